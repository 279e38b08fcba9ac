//! Damaged plan files.

use rats_domain::codes::Code;
use rats_domain::problem::Problems;
use serde_json::json;

use super::table::Row;
use super::{assert_problems, read_plan};
use crate::mutation::base_plan;
use crate::support::{remove, set};

#[test]
fn damaged_plans_name_code_and_place() {
    let rows: Vec<Row> = vec![
        ("/format", json!("rats.plan/2"), &["R02"], "format"),
        ("/format", json!("rats.instance/1"), &["R02"], "format"),
        ("/assignments", json!({}), &["R04"], "assignments"),
        ("/assignments/1/start", json!(9_223_372_036_854_775_808_u64), &["R04"], "assignments[1].start"),
        ("/assignments/1/start", json!((1_i64 << 31) + 1), &["P01"], "assignments[1].start"),
        ("/assignments/1/start", json!(i64::MIN), &["P01"], "assignments[1].start"),
        ("/assignments/1/start", json!(0.5), &["R04"], "assignments[1].start"),
        ("/assignments/1/option", json!("0"), &["R04"], "assignments[1].option"),
        ("/assignments/1/gpus", json!("n0/0"), &["R04"], "assignments[1].gpus"),
        ("/assignments/1/gpus", json!([0]), &["R04"], "assignments[1].gpus[0]"),
        ("/assignments/1/job", json!(1), &["R04"], "assignments[1].job"),
        ("/power/n2", json!([[0, i64::MAX]]), &["P01"], "power.n2[0][1]"),
        ("/power/n2", json!([[i64::MIN, 0]]), &["P01"], "power.n2[0][0]"),
        ("/power/n2", json!([[0]]), &["R04"], "power.n2"),
        ("/power/n2", json!([[0, 1, 2]]), &["R04"], "power.n2"),
        ("/power", json!([]), &["R04"], "power"),
        ("/objective", json!("1"), &["R04"], "objective"),
    ];
    for (pointer, value, codes, place) in rows {
        let mut document = base_plan();
        let name = format!("{pointer} = {value}");
        set(&mut document, pointer, value);
        assert_problems(&name, read_plan(document.to_string().as_bytes()), codes, place);
    }
    for pointer in [
        "/format",
        "/assignments",
        "/assignments/0/job",
        "/assignments/0/option",
        "/assignments/0/start",
        "/assignments/0/gpus",
    ] {
        let mut document = base_plan();
        remove(&mut document, pointer);
        let code = if pointer == "/format" { "R02" } else { "R04" };
        let result = read_plan(document.to_string().as_bytes());
        let field = pointer.rsplit_once('/').unwrap().1;
        assert!(result.clone().unwrap_err().to_string().contains(field), "{pointer}");
        assert_problems(pointer, result, &[code], "");
    }
}

#[test]
fn all_bounds_of_a_plan_out_of_range_are_reported_together() {
    let mut document = base_plan();
    set(&mut document, "/assignments/0/start", json!(i64::MAX));
    set(&mut document, "/assignments/3/start", json!(i64::MIN));
    set(&mut document, "/power/n2", json!([[i64::MIN, i64::MAX]]));
    let Problems(problems) = read_plan(document.to_string().as_bytes()).unwrap_err();
    assert_eq!(problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), [Code::P01; 4]);
}
