use rats_models::*;
fn main() {
    let d = data::Dataset::read(std::path::Path::new("/tmp/dvfs_ds")).unwrap();
    let t = rats_system::clock::Stopwatch::start();
    let s = evaluate::sorted(evaluate::dvfs::scores(&d, &[]));
    println!("{:.1}s", t.elapsed().as_secs_f64());
    std::fs::create_dir_all("/tmp/dvfs_rep").unwrap();
    std::fs::write("/tmp/dvfs_rep/summary.md", evaluate::summary::markdown("x", &s)).unwrap();
    std::fs::write("/tmp/dvfs_rep/raw.csv", evaluate::summary::raw(&s)).unwrap();
    let ex = evaluate::dvfs::examples(&d);
    let mut p = evaluate::plots::curves(&ex);
    for q in [score::Quantity::Time, score::Quantity::Power] {
        p.extend(evaluate::plots::errors(&ex, q));
        p.extend(evaluate::plots::learning(&s, q));
    }
    for (n, t) in p {
        std::fs::write(format!("/tmp/dvfs_rep/{n}"), t).unwrap();
    }
    println!("{:.1}s", t.elapsed().as_secs_f64());
}
