//! Files that are no JSON, or JSON that says too much.

use super::{assert_problems, read_instance, read_plan};
use crate::mutation::{base_instance, base_plan};

#[test]
fn keys_that_appear_twice_are_found_at_every_depth() {
    let text = base_instance().to_string();
    let twice = [
        (r#""name":"base""#, r#""name":"base","name":"base""#, "name"),
        (r#""idle_w":50"#, r#""idle_w":50,"idle_w":50"#, "cluster.gpu_types[0].idle_w"),
        (r#""ram_gib":64.5"#, r#""ram_gib":64.5,"ram_gib":1"#, "cluster.nodes[1].resources.ram_gib"),
        (r#""sm_mhz":1410"#, r#""sm_mhz":1410,"sm_mhz":1410"#, "jobs[1].options[0].point.sm_mhz"),
        (r#""due":4"#, r#""due":4,"physics":{"a":[{"b":1,"b":2}]}"#, "jobs[1].physics.a[0].b"),
        (r#""due":4"#, r#""due":4,"unknown":{"a":1,"\u0061":2}"#, "jobs[1].unknown.a"),
    ];
    for (from, to, place) in twice {
        assert!(text.contains(from), "{from}");
        assert_problems(place, read_instance(text.replacen(from, to, 1).as_bytes()), &["R03"], place);
    }
    let plan = base_plan().to_string();
    for (from, to, place) in [
        (r#""n2":[[2,8]]"#, r#""n2":[[2,8]],"n2":[]"#, "power.n2"),
        (r#""start":-2"#, r#""start":-2,"start":-2"#, "assignments[0].start"),
    ] {
        assert_problems(place, read_plan(plan.replacen(from, to, 1).as_bytes()), &["R03"], place);
    }
}

#[test]
fn what_is_not_json_says_where() {
    let text = base_instance().to_string();
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let with_mark: Vec<u8> = [0xFF, 0xFE].into_iter().chain(utf16.clone()).collect();
    let number = |written: &str| text.replacen(r#""tick_s":60"#, &format!(r#""tick_s":{written}"#), 1).into_bytes();
    let deep = |depth: usize| {
        text.replacen(r#""due":4"#, &format!(r#""due":4,"physics":{}{}"#, "[".repeat(depth), "]".repeat(depth)), 1)
    };
    let files: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        ("empty", Vec::new(), "R01", "file"),
        ("whitespace", b" \n\t\r\n".to_vec(), "R01", "file"),
        ("truncated", text.as_bytes()[..text.len() / 2].to_vec(), "R01", "line 1"),
        ("last brace missing", text.as_bytes()[..text.len() - 1].to_vec(), "R01", "line 1"),
        ("trailing garbage", format!("{text}\n}}").into_bytes(), "R01", "line 2"),
        ("two documents", format!("{text}{text}").into_bytes(), "R01", "line 1"),
        ("binary", vec![0x7F, b'E', b'L', b'F', 0, 255, 254, 1], "R01", "byte 5"),
        ("zeros", vec![0; 64], "R01", "line 1"),
        ("UTF-16 with mark", with_mark, "R01", "byte 0"),
        ("UTF-16", utf16, "R01", "line 1"),
        ("byte order mark", format!("\u{feff}{text}").into_bytes(), "R01", "byte 0"),
        ("deep", deep(10_000).into_bytes(), "R01", "line 1"),
        ("deep and open", vec![b'['; 1_000_000], "R01", "line 1"),
        ("array", format!("[{text}]").into_bytes(), "R02", "file"),
        ("number", b"5".to_vec(), "R02", "file"),
        ("text", br#""rats.instance/1""#.to_vec(), "R02", "file"),
        ("null", b"null".to_vec(), "R02", "file"),
        ("no format", b"{}".to_vec(), "R02", "format"),
        ("format deeper", br#"{"a": {"format": "rats.instance/1"}}"#.to_vec(), "R02", "format"),
        ("NaN", number("NaN"), "R01", "line 1"),
        ("infinity", number("Infinity"), "R01", "line 1"),
        ("leading zero", number("060"), "R01", "line 1"),
        ("plus", number("+60"), "R01", "line 1"),
        ("hexadecimal", number("0x3c"), "R01", "line 1"),
        ("1e999", number("1e999"), "R04", "line 1"),
        ("huge", number(&"9".repeat(400)), "R04", "line 1"),
        ("2^64", number("18446744073709551616"), "R04", "tick_s"),
        ("decimal point", number("60.0"), "R04", "tick_s"),
        ("single quotes", text.replace('"', "'").into_bytes(), "R01", "line 1"),
        ("comment", format!("// a comment\n{text}").into_bytes(), "R01", "line 1"),
    ];
    for (name, bytes, code, place) in files {
        assert_problems(name, read_instance(&bytes), &[code], place);
        if ["empty", "array", "binary", "deep and open"].contains(&name) {
            assert_problems(name, read_plan(&bytes), &[code], place);
        }
    }
    assert!(read_instance(deep(100).as_bytes()).is_ok());
}

#[test]
fn decimals_of_any_length_are_judged_by_their_value() {
    let text = base_instance().to_string();
    let number =
        |written: &str| read_instance(text.replacen(r#""idle_w":50"#, &format!(r#""idle_w":{written}"#), 1).as_bytes());
    for fine in ["50.000", "5e1", "50.0000000000000000000000000000000000000000000000", "0.05e3", "-0", "0.0"] {
        assert!(number(fine).is_ok(), "{fine}");
    }
    let place = "cluster.gpu_types[0].idle_w";
    for more in ["50.0001", "1e-4", "1e-300", "50.00000000000000000000000000000001"] {
        assert_problems(more, number(more), &["I03"], place);
    }
    for large in ["1e10", "1e36", "-1e36", "170141183460469231731687303715884105727"] {
        assert_problems(large, number(large), &["I02"], place);
    }
    for unreadable in ["1e300", "50.0000000000000000000000000000000000000000000001", "true", "null", "\"50\"", "[50]"] {
        assert_problems(unreadable, number(unreadable), &["R04"], place);
    }
}
