//! The real descriptions, where `RATS_DATA_DIR` names the folder that holds them.

use std::path::PathBuf;

use super::*;

/// The folder of real descriptions; says so if there is none.
fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("RATS_DATA_DIR").map(|data| PathBuf::from(data).join("gpu-topology"));
    if folder.is_none() {
        eprintln!("RATS_DATA_DIR is not set: the real topology files are not read.");
    }
    folder
}

/// Two hosts like the file's; the cut of one.
fn node_cut(kind: Kind, file: &str, figures: &Figures) -> Option<KilobytesPerSecond> {
    let text = std::fs::read_to_string(folder()?.join(file)).unwrap();
    let (network, reduction) = reduced(kind, &text, &Figures { nodes: 2, ..figures.clone() }).unwrap();
    Some(cut(&network, &reduction, "node0"))
}

#[test]
fn cloud_machines_have_the_network_that_is_sold() {
    // ND A100 v4: 8 x 200 Gbit/s = 200 GB/s. ND H100 v5: 8 x 400 = 400 GB/s. p4d: 4 x 100 Gbit/s = 50 GB/s.
    // p5: 32 ports x 100 Gbit/s, which the file itself states = 400 GB/s.
    let with = |nvswitch: i64, nic: Option<i64>| Figures {
        nvswitch: Some(gb(nvswitch * 1000)),
        nic: nic.map(|nic| gb(nic * 100)),
        ..figures("G")
    };
    let cases = [
        ("azure/ndv4-topo.xml", with(300, Some(250)), 200_000),
        ("azure/ndv5-topo.xml", with(450, Some(500)), 400_000),
        ("aws/p4d-24xl-topo.xml", with(300, Some(125)), 50_000),
        ("aws/p4de-24xl-topo.xml", with(300, Some(125)), 50_000),
        ("aws/p5.48xl-topo.xml", with(450, None), 400_000),
    ];
    for (file, figures, expected) in cases {
        let Some(found) = node_cut(Kind::NcclXml, file, &figures) else { return };
        assert_eq!(found, gb(expected), "{file}");
    }
}

#[test]
fn real_nvlink_tables_reduce() {
    let Some(folder) = folder() else { return };
    let folder = folder.join("nvidia-go-gpuallocator");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let quads = Some(vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
    for (file, gpu, expected) in [("DGX1Volta.csv", "V100", 150_000), ("DGX1Pascal.csv", "P100", 80_000)] {
        // Volta: 6 links x 25 GB/s between the quads; Pascal: 4 x 20.
        let (network, reduction) = reduced(Kind::NvLink, &read(file), &figures(gpu)).unwrap();
        assert_eq!(network.file.hosts[0].islands, quads, "{file}");
        assert_eq!(cut(&network, &reduction, "node0 island 0"), gb(expected), "{file}");
    }
    let figures = Figures { nvlink: Some(2), pcie: Some(gb(15_750)), ..figures("RTX8000") };
    let (network, _) = reduced(Kind::NvLink, &read("4xRTX8000.csv"), &figures).unwrap();
    assert_eq!(network.file.hosts[0].islands, Some(vec![vec![0, 3], vec![1, 2]]));
}

#[test]
fn real_files_that_say_too_little_are_refused_with_a_place() {
    let Some(folder) = folder() else { return };
    for (file, expected) in [("aws/g5.48xl-topo.xml", "T01 line 12"), ("azure/ncv4-graph.xml", "T01 line 1")] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let problems = reduced(Kind::NcclXml, &text, &figures("G")).map(|_| ()).unwrap_err();
        assert_eq!(format!("{} {}", problems.0[0].code, problems.0[0].place), expected);
    }
}
