//! `rats frontier` and `rats edl` through the real program.

use crate::harness::Place;

#[test]
fn a_frontier_is_written_as_plans_that_the_checker_confirms() {
    let place = Place::with_plans(&[]);
    let done = place.rats("frontier i.json --solver milp --points 100 -o out");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(done.stdout.contains("the whole frontier, proved"), "{}", done.stdout);
    let document: serde_json::Value = serde_json::from_str(&place.read("out/frontier.json")).unwrap();
    let points = document["points"].as_array().unwrap();
    // Racing both jobs side by side is best in both: 10 ticks of 60 s, 492000 J.
    assert_eq!(points.len(), 1, "{points:?}");
    assert_eq!((&points[0]["makespan"], &points[0]["energy"]), (&600.0.into(), &492_000.0.into()));
    assert_eq!((&points[0]["gap"], &document["complete"]), (&0.0.into(), &true.into()));
    for point in points {
        let check = place.rats(&format!("check i.json out/{} --strict --json", point["plan"].as_str().unwrap())).json();
        assert_eq!((&check["valid"], &check["terms"]["energy_mj"]), (&true.into(), &point["energy_mj"]));
    }
    let picture = place.read("out/frontier.svg");
    assert!(picture.starts_with("<svg") && picture.contains("no plan lies below"), "{picture}");
}

#[test]
fn a_slower_clock_trades_time_for_energy() {
    let place = Place::with_plans(&[]);
    // With a base power of 20 W the slow options cost 364800 J instead of 384000 J and take 14 ticks instead of 10.
    place.write("i.json", &crate::harness::WORKED.replace("\"base_w\": 200", "\"base_w\": 20"));
    let document = place.rats("frontier i.json --solver milp --points 100 --json").json();
    let point = |position: usize| {
        (document["points"][position]["makespan"].clone(), document["points"][position]["energy"].clone())
    };
    assert_eq!(point(0), (600.0.into(), 384_000.0.into()));
    assert_eq!(point(document["points"].as_array().unwrap().len() - 1), (840.0.into(), 364_800.0.into()));
    assert_eq!(document["complete"], true);
    place.rats("frontier i.json --against cost").fails_with("error [U05] --against cost: the instance has no tariff.");
}

#[test]
fn the_published_experiments_are_done_again() {
    let place = Place::with_plans(&[]);
    let done = place.rats("edl --seeds 1");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(done.stdout.contains("2048 tasks on 2048 GPUs, offline, mean of 1 seed"), "{}", done.stdout);
    let rows = place.rats("edl --seeds 1 --json").json()["rows"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 10);
    assert_eq!(
        (&rows[0]["per_server"], &rows[0]["published"], &rows[0]["late"]),
        (&1.into(), &33.4.into(), &0.0.into())
    );
}

#[test]
fn our_solvers_stand_beside_them_under_the_rules_of_the_model() {
    let place = Place::with_plans(&[]);
    let entries = place.rats("edl --solvers fifo_max,edl --per-server 16 --seeds 1 --json").json();
    assert_eq!((&entries[0]["solver"], &entries[0]["saving"]), (&"fifo_max".into(), &0.0.into()));
    let (saving, allowed) = (entries[1]["saving"].as_f64().unwrap(), entries[1]["allowed"].as_f64().unwrap());
    assert!(0.0 < saving && saving < allowed, "{saving} {allowed}");
    place.rats("edl --solvers none").fails_with("error [U03] none: ");
}
