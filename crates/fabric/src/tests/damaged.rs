//! One damage each, and the code and place that name it.

use super::*;

/// Reads and reduces; the first problem as `code place`.
fn damage(kind: Kind, text: &str, figures: &Figures) -> String {
    let problems = reduced(kind, text, figures).map(|_| ()).unwrap_err();
    assert!(problems.0.iter().all(|problem| !problem.place.is_empty() && !problem.message.is_empty()));
    format!("{} {}", problems.0[0].code, problems.0[0].place)
}

/// Two hosts below one switch, with one text replaced by another.
fn fabric(from: &str, to: &str) -> String {
    const GOOD: &str = r#"{
        "format": "rats.fabric/1", "gpu_types": [{"id": "G"}], "levels": ["rack", "cluster"],
        "hosts": [{"id": "a", "gpu_type": "G", "gpus": 1}, {"id": "b", "gpu_type": "G", "gpus": 1}],
        "switches": ["s"],
        "links": [{"a": "a/0", "b": "a", "gb_s": 16}, {"a": "b/0", "b": "b", "gb_s": 16},
                  {"a": "a", "b": "s", "gb_s": 12.5}, {"a": "b", "b": "s", "gb_s": 12.5, "count": 2}],
        "domains": [{"id": "r", "level": "rack", "members": ["a", "b"]}]
    }"#;
    assert!(GOOD.contains(from), "{from}");
    GOOD.replacen(from, to, 1)
}

#[test]
fn damaged_networks() {
    let cases = [
        (r#""rats.fabric/1""#, r#""rats.fabric/9""#, "R02 format"),
        (r#""b": "s", "gb_s": 12.5}"#, r#""b": "x", "gb_s": 12.5}"#, "T02 links[2].b"),
        (r#""b": "s", "gb_s": 12.5}"#, r#""b": "a", "gb_s": 12.5}"#, "T10 links[2]"),
        (r#""gb_s": 12.5}"#, r#""gb_s": 0}"#, "T04 links[2].gb_s"),
        (r#""gb_s": 12.5}"#, r#""gb_s": -1}"#, "T04 links[2].gb_s"),
        (r#""gb_s": 12.5}"#, r#""gb_s": 0.0000001}"#, "T04 links[2].gb_s"),
        (r#""gb_s": 12.5}"#, r#""gb_s": 1e9}"#, "T04 links[2].gb_s"),
        (r#""count": 2"#, r#""count": 0"#, "T04 links[3].gb_s"),
        (r#"["s"]"#, r#"["s", "a"]"#, "T03 switches[1]"),
        (r#"["s"]"#, r#"["s", "a/0"]"#, "T03 switches[1]"),
        (r#"{"id": "b","#, r#"{"id": "a","#, "T03 hosts[1].id"),
        (r#"{"id": "r","#, r#"{"id": "a","#, "T03 hosts[0].id"),
        (r#""level": "rack""#, r#""level": "row""#, "T02 domains[0].level"),
        (r#"["a", "b"]}"#, r#"["a", "c"]}"#, "T02 domains[0].members[1]"),
        (r#"["a", "b"]}"#, r#"["a", "a"]}"#, "T06 domains[0].members[1]"),
        (r#"["a", "b"]}"#, r#"["a"]}"#, "T06 domains"),
        (r#"["a", "b"]}"#, "[]}", "I01 domains[0].members"),
        (r#"["a", "b"]}"#, r#"["a", "b", "r"]}"#, "T05 domains[0]"),
        (r#"["a", "b"]}"#, r#"["a", "b", "q"]}, {"id": "q", "level": "cluster", "members": ["r"]}"#, "T05 domains[0]"),
        (r#"["a", "b"]}"#, r#"["a", "q"]}, {"id": "q", "level": "cluster", "members": ["b"]}"#, "T06 domains[1].level"),
        (r#"["rack", "cluster"]"#, r#"["rack", "node"]"#, "I07 levels[1]"),
        (r#"{"a": "a", "b": "s", "gb_s": 12.5}, "#, "", "T07 a"),
        (r#""gpus": 1}"#, r#""gpus": 0}"#, "I02 hosts[0].gpus"),
        (r#""gpus": 1}"#, r#""gpus": 1, "islands": [[1]]}"#, "I11 hosts[0].islands"),
        (r#""gpus": 1}"#, r#""gpus": 1, "uplink_gb_s": 3}"#, "T13 hosts[0]"),
        (r#""gpus": 1}"#, r#""gpus": 1, "base_w": -3}"#, "I02 cluster.nodes[0].base_w"),
        (r#""gpu_type": "G""#, r#""gpu_type": "H""#, "T02 hosts[0].gpu_type"),
        (r#""domains""#, r#""switches": [], "domains""#, "R03 switches"),
    ];
    for (from, to, expected) in cases {
        let text = fabric(from, to);
        let found = damage(Kind::Fabric, &text, &figures("G"));
        assert_eq!(found, expected, "{from} -> {to}");
    }
    assert!(damage(Kind::Fabric, &fabric("}]\n", ""), &figures("G")).starts_with("R01"));
}

#[test]
fn a_network_in_toml_is_the_same_network() {
    let json: FabricFile = serde_json::from_str(&fabric("s", "s")).unwrap();
    let toml = "format = \"rats.fabric/1\"\nlevels = [\"rack\", \"cluster\"]\nswitches = [\"s\"]\n\
        gpu_types = [{ id = \"G\" }]\nhosts = [{ id = \"a\", gpu_type = \"G\", gpus = 1 }, { id = \"b\", gpu_type = \"G\", gpus = 1 }]\n\
        links = [{ a = \"a/0\", b = \"a\", gb_s = 16 }, { a = \"b/0\", b = \"b\", gb_s = 16.0 },\n\
        { a = \"a\", b = \"s\", gb_s = 12.5 }, { a = \"b\", b = \"s\", gb_s = 12.5, count = 2 }]\n\
        [[domains]]\nid = \"r\"\nlevel = \"rack\"\nmembers = [\"a\", \"b\"]\n";
    let read = read(Kind::Fabric, toml.as_bytes(), &figures("G")).unwrap().file;
    assert_eq!(serde_json::to_string(&read).unwrap(), serde_json::to_string(&json).unwrap());
    assert!(damage(Kind::Fabric, &toml.replace("= 16 ", "= "), &figures("G")).starts_with("T01 line 6, column"));
    assert_eq!(
        damage(Kind::Fabric, &toml.replace("gb_s = 12.5 ", "gb_s = \"x\" "), &figures("G")),
        "R04 links[2].gb_s"
    );
}

#[test]
fn damaged_xml() {
    let good = r#"<system><cpu>
        <pci busid="1" class="0x030200" link_speed="8 GT/s" link_width="16"><gpu sm="70"><nvlink target="2" count="2"/></gpu></pci>
        <pci busid="2" class="0x030200" link_speed="8 GT/s" link_width="16"><gpu sm="70"><nvlink target="1" count="2"/></gpu></pci>
        </cpu></system>"#;
    assert!(reduced(Kind::NcclXml, good, &figures("V100")).is_ok());
    let cases = [
        ("</cpu></system>", "", "T01 line 4 (end of file)"),
        ("</cpu>", "</gpu>", "T01 line 4"),
        ("<system>", "<graphs>", "T01 line 4"),
        ("8 GT/s", "9 GT/s", "T04 line 2"),
        (r#"link_width="16""#, r#"link_width="0""#, "T09 --pcie-gb-s"),
        (r#"link_width="16""#, r#"link_width="-4""#, "T04 line 2"),
        (r#"busid="2""#, r#"busid="1""#, "T03 line 3"),
        (r#"busid="2""#, "", "T01 line 3"),
        (r#"target="1""#, r#"target="7""#, "T02 line 3"),
        (r#"count="2""#, r#"count="1""#, "T11 line 2"),
        (r#"count="2""#, r#"count="0""#, "T04 line 2"),
        (r#"sm="70""#, r#"sm="x""#, "T09 --nvlink"),
    ];
    for (from, to, expected) in cases {
        let mut figures = figures("X");
        figures.nodes = 1;
        let found = damage(Kind::NcclXml, &good.replacen(from, to, 1), &figures);
        assert!(found.starts_with(expected), "{found} for {from} -> {to}");
    }
    assert_eq!(damage(Kind::NcclXml, good, &Figures { nodes: 1, ..Figures::default() }), "T09 --gpu-type");
    assert_eq!(damage(Kind::NcclXml, good, &Figures { nodes: 2, ..figures("V100") }), "T09 --nic-gb-s");
}

#[test]
fn damaged_tables() {
    let good = dgx1_table();
    let cases = [
        ("gpu_i", "gpu", "T01 line 1"),
        ("0,1,1,PIX", "0,1,1", "T01 line 2"),
        ("0,1,1,PIX", "0,1,2,PIX", "T11 line 2"),
        ("0,1,1,PIX", "0,1,x,PIX", "T01 line 2"),
        ("0,1,1,PIX", "0,1,1,PXX", "T01 line 2"),
        ("0,1,1,PIX", "0,0,1,PIX", "T10 line 2"),
        ("0,1,1,PIX", "0,99,1,PIX", "T12 line 2"),
        ("0,1,1,PIX\n", "0,1,1,PIX\n0,1,1,PIX\n", "T03 line 3"),
    ];
    for (from, to, expected) in cases {
        assert_eq!(damage(Kind::NvLink, &good.replacen(from, to, 1), &figures("V100")), expected, "{from} -> {to}");
    }
    // Six links a GPU are two more than a P100 has.
    assert_eq!(damage(Kind::NvLink, &good, &figures("P100")), "T11 line 2");
    assert_eq!(damage(Kind::NvLink, &good, &figures("X")), "T09 --nvlink");
}

#[test]
fn damaged_matrices() {
    let good = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\t0-3\nGPU1\tNV2\t X \t0-3\n";
    assert!(reduced(Kind::Smi, good, &figures("V100")).is_ok());
    let cases = [
        ("\tGPU0\t", "\tGPUX\t", "T01 file"),
        ("\tGPU1\t", "\tGPU7\t", "T01 header"),
        ("NV2\t0-3\n", "NVx\t0-3\n", "T01 line 2, column GPU1"),
        ("GPU1\tNV2\t X \t0-3\n", "", "T01 file"),
        ("GPU1\tNV2\t X \t0-3\n", "GPU1\tNV2\n", "T01 line 3, column GPU1"),
        ("GPU1\tNV2", "GPU4\tNV2", "T02 line 3"),
        ("GPU1\tNV2", "GPU1\tNV1", "T11 line 2, column GPU1"),
        ("GPU1\tNV2\t X", "GPU1\tNV2\tNV2", "T01 line 3, column GPU1"),
    ];
    for (from, to, expected) in cases {
        assert_eq!(damage(Kind::Smi, &good.replacen(from, to, 1), &figures("V100")), expected, "{from:?} -> {to:?}");
    }
    let apart = good.replace("NV2", "SYS");
    assert_eq!(damage(Kind::Smi, &apart, &figures("V100")), "T09 --pcie-gb-s");
}

#[test]
fn damaged_slurm_files() {
    let uplinks = vec![gb(1000), gb(1000)];
    let figures = Figures { gpus_per_node: Some(1), uplinks, ..figures("V100") };
    let good = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\nSwitchName=c Switches=a,b\n";
    assert!(reduced(Kind::Slurm, good, &figures).is_ok());
    let cases = [
        ("n[1-2]", "n[1-2", "T08 line 1"),
        ("n[1-2]", "n[2-1]", "T08 line 1"),
        ("n[1-2]", "n[x]", "T08 line 1"),
        ("n[1-2]", "n1,,n2", "T08 line 1"),
        ("n[1-2]", "n[0-99999999]", "T08 line 1"),
        ("n3", "n2", "T06 line 2"),
        ("n3", "a", "T03 line 2"),
        ("Name=b", "Name=a", "T03 line 2"),
        ("a,b", "a,x", "T02 line 3"),
        ("a,b", "a", "T06 domains"),
        ("a,b", "a,b,c", "T05 line 3"),
        ("Nodes=n3", "Switches=c", "T05 line 2"),
        ("Nodes=n3", "Nodse=n3", "T01 line 2"),
        ("Nodes=n3", "Nodes", "T01 line 2"),
        ("Nodes=n3", "", "T01 line 2"),
        ("SwitchName=b ", "", "T01 line 2"),
        ("SwitchName=b", "BlockName=b", "T13 line 2"),
        ("SwitchName=b Nodes=n3", "include more.conf", "T13 line 2"),
    ];
    for (from, to, expected) in cases {
        assert_eq!(damage(Kind::Slurm, &good.replacen(from, to, 1), &figures), expected, "{from} -> {to}");
    }
    assert_eq!(damage(Kind::Slurm, "# nothing\n", &figures), "T01 file");
    assert_eq!(damage(Kind::Slurm, good, &Figures { gpus_per_node: None, ..figures.clone() }), "T09 --gpus-per-node");
    assert_eq!(
        damage(Kind::Slurm, good, &Figures { gpus_per_node: Some(i64::MAX), ..figures.clone() }),
        "T12 --gpus-per-node"
    );
    assert_eq!(damage(Kind::Slurm, good, &Figures { uplinks: vec![], ..figures }), "T09 --link-gb-s");
}
