use rats_models::dvfs::curve::*; use rats_models::dvfs::scope::*; use rats_models::score::*; use rats_models::split::*;
use std::collections::BTreeMap;
fn main(){
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string("/tmp/dvfs_curves.csv").unwrap();
    let mut groups: BTreeMap<(String,String), Vec<(f64,f64,Option<f64>,f64)>> = BTreeMap::new();
    for l in text.lines().skip(1){ let c: Vec<&str>=l.split(',').collect();
        groups.entry((c[0].into(),c[1].into())).or_default().push((c[2].parse().unwrap(),c[3].parse().unwrap(),c[4].parse().ok(),c[5].parse().unwrap())); }
    for gpu in args[1].split(',') { for q in [Quantity::Time,Quantity::Power] { for kind in ["core","cell"] {
        if kind=="cell" && !gpu.starts_with("titan") {continue}
        let mut per=vec![]; let t=rats_system::clock::Stopwatch::start(); let mut ins=vec![]; let mut outs=vec![]; let mut qs=vec![];  let mut picks: BTreeMap<&str,usize>=BTreeMap::new();
        for phase in 0..4u64 {
            let mut held: Vec<Vec<Held>>=vec![];
            for ((g,_w),rows) in groups.iter().filter(|x| x.0.0==gpu).take(args.get(2).map_or(1000,|x|x.parse().unwrap())) { let _=g;
                let s: Vec<Sample>=rows.iter().filter_map(|r| Some(Sample{at:Place{core:r.0,mem:if r.1>0.0{r.1}else{1.0}},value: if q==Quantity::Time{r.2?}else{r.3}})).collect();
                if s.is_empty(){continue}
                let sp= if kind=="core" { every(&s.iter().map(|x| x.at.core as i64).collect::<Vec<_>>(),4,phase as usize)} else { { let mut cs: Vec<i64>=s.iter().map(|x| x.at.core as i64).collect(); cs.sort(); cs.dedup(); let top=s.iter().map(|x| x.at.mem).fold(0.0,f64::max); Split::by(s.len(),|i| (cs.binary_search(&(s[i].at.core as i64)).unwrap()+if s[i].at.mem<top {2} else {0})%4==phase as usize) }};
                let f: Vec<Sample>=sp.fitted.iter().map(|&i| s[i]).collect();
                let c=Curve::fit(q,Axis::Clock,&f,&[]).unwrap(); *picks.entry(c.fitted.form.id()).or_default()+=1;
                qs.push(c.quantile); for &i in &sp.held { let (v,d)=c.value(s[i].at); let pp=c.predict(s[i].at); let z=f64::from(s[i].value>=pp.low&&s[i].value<=pp.high); let _=(v,d); if c.inside(s[i].at) {ins.push(z)} else {outs.push(z)} }
                held.push(sp.held.iter().map(|&i| {let p=c.predict(s[i].at); Held{measured:s[i].value,predicted:p.value,interval:Some((p.low,p.high))}}).collect());
            }
            per.push(Score::of_groups(Subject{task:String::new(),source:String::new(),gpu:gpu.into(),model:String::new(),quantity:q,seed:phase},&held,0));
        }
        let m: Vec<f64>=per.iter().filter_map(|s| s.mape.map(|x| x*100.0)).collect();
        if m.is_empty(){continue}
        let need=|v:&mut Vec<f64>| v.iter().sum::<f64>()/v.len() as f64;
        println!("{gpu} {q:?} {kind} mean {:.3} worst {:.3} | cov {:.3?} width {:.4} {:?} {:.1}s",m.iter().sum::<f64>()/m.len() as f64, m.iter().cloned().fold(0.0,f64::max), per.iter().map(|s| s.coverage.unwrap()).collect::<Vec<_>>(), per[0].width.unwrap(), picks, t.elapsed().as_secs_f64());
        println!("       coverage inside {:.2} outside {:.2}; q median {:.2} max {:.2}",need(&mut ins),need(&mut outs),rats_models::statistics::median(&qs).unwrap(),qs.iter().cloned().fold(0.0,f64::max));
    }}}
}
