//! Excerpts, damaged rows, the shipped catalogue and the full tables.

use std::fs;
use std::path::Path;

use rats_domain::format::read;

use super::*;

const CLOCKS: &str = "gpu,source_file,driver,mem_clock_mhz,graphics_clock_mhz\n\
    NVIDIA Test 9,t9.xml,1.0,1000,240\nNVIDIA Test 9,t9.xml,1.0,1000,225\nNVIDIA Test 9,t9.xml,1.0,1000,210\n\
    NVIDIA Test 9,t9.xml,1.0,400,210\n";
const LIMITS: &str = "source,source_file,gpu_index,gpu,driver,fb_total_mib,default_power_limit_w,min_power_limit_w,\
    max_power_limit_w,max_graphics_clock_mhz,max_sm_clock_mhz,max_mem_clock_mhz,default_app_graphics_mhz,\
    default_app_mem_mhz,power_draw_at_capture_w,pstate_at_capture,pcie_max_gen,pcie_max_width\n\
    me/t,t9.xml,0,NVIDIA Test 9,1.0,16384,300.00,100.00,320.00,240,240,1000,N/A,N/A,140.5,P2,4,16x\n\
    me/t,t9.xml,1,NVIDIA Test 9,1.0,16384,300.00,100.00,320.00,240,240,1000,225,1000,40.5,P8,4,16x\n";

fn imported(clocks: &str, limits: &str) -> Result<Imported, Problems> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("supported_clocks.csv"), clocks).unwrap();
    fs::write(folder.path().join("gpu_limits.csv"), limits).unwrap();
    import(folder.path())
}

#[test]
fn an_unknown_gpu_is_what_its_tables_say() {
    let imported = imported(CLOCKS, LIMITS).unwrap();
    let gpu = imported.gpus.iter().find(|gpu| gpu.id == "Test-9").unwrap();
    assert_eq!(gpu.pairs().collect::<Vec<_>>(), [(1000, 210), (1000, 225), (1000, 240), (400, 210)]);
    // The board that draws least was idle; waiting: 40.5 + (300 - 40.5) / 10 = 66.45.
    assert_eq!((gpu.idle_w.value.to_string(), gpu.idle_w.kind), ("40.5".to_owned(), GpuFigureKind::Measured));
    assert_eq!((gpu.blocked_w.value.to_string(), gpu.blocked_w.kind), ("66.45".to_owned(), GpuFigureKind::Assumed));
    assert_eq!((gpu.default_sm_mhz.value, gpu.default_mem_mhz.value), (225, 1000));
}

#[test]
fn damaged_rows_are_named_by_file_and_line() {
    let cases = [
        ("1000,240\n", "1000\n", "supported_clocks.csv: line 2"),
        ("1000,240\n", "1000,24O\n", "supported_clocks.csv: line 2"),
        ("1000,240\n", "-1,240\n", "supported_clocks.csv: line 2"),
        ("1000,225\n", "1000,240\n", "supported_clocks.csv: line 3"),
        ("driver,", "drive,", "supported_clocks.csv: line 1"),
        ("16384", "16 GB", "gpu_limits.csv: line 2"),
        ("320.00", "32O", "gpu_limits.csv: line 2"),
        ("100.00", "310.00", "gpu_limits.csv: line 2"),
        ("140.5", "-1", "gpu_limits.csv: line 2"),
        (",4,16x", "", "gpu_limits.csv: line 2"),
    ];
    for (from, to, place) in cases {
        let (clocks, limits) = (CLOCKS.replacen(from, to, 1), LIMITS.replacen(from, to, 1));
        let clocks = if place.starts_with("supported") { clocks } else { CLOCKS.to_owned() };
        let limits = if place.starts_with("gpu") { limits } else { LIMITS.to_owned() };
        let problems = imported(&clocks, &limits).unwrap_err();
        assert_eq!(problems.0[0].code, Code::G01);
        assert!(problems.0[0].place.ends_with(place), "{} for {from} -> {to}", problems.0[0].place);
    }
}

#[test]
fn a_gpu_that_lacks_a_figure_is_left_out_with_a_word() {
    let imported = imported(CLOCKS, &LIMITS.replace("300.00", "N/A")).unwrap();
    assert!(imported.gpus.iter().all(|gpu| gpu.id != "Test-9"));
    assert_eq!((imported.warnings[0].code, imported.warnings[0].place.as_str()), (Code::G02, "NVIDIA Test 9"));
}

#[test]
fn the_shipped_catalogue_reads_and_its_numbers_are_in_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances/gpus");
    let mut ids = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|extension| extension == "json") {
            let read = read::<GpuFile>(&fs::read(&entry).unwrap()).unwrap();
            assert!(read.warnings.is_empty());
            let gpu = read.document;
            let watts = |figure: &GpuFigure<Decimal>| figure.value.scaled(3).unwrap();
            let limits = &gpu.power_limit_w;
            let order = [&gpu.idle_w, &gpu.blocked_w, &limits.default, &limits.max].map(watts);
            assert!(order.is_sorted() && watts(&limits.min) <= watts(&limits.default), "{}", gpu.id);
            let pairs: Vec<_> = gpu.pairs().collect();
            assert!(pairs.contains(&(gpu.default_mem_mhz.value, gpu.default_sm_mhz.value)), "{}", gpu.id);
            ids.push(gpu.id);
        }
    }
    let wanted = "V100 A100-SXM4-40GB A100-SXM4-80GB A100-PCIE-40GB H100 H200 A40 P100 K80 RTX6000 RTX3090 T4";
    assert!(wanted.split(' ').all(|id| ids.iter().any(|found| found == id)), "{ids:?}");
}

#[test]
fn the_full_tables_give_the_shipped_catalogue() {
    let Some(data) = std::env::var_os("RATS_DATA_DIR") else {
        eprintln!("RATS_DATA_DIR is not set: the full tables of clocks are not read.");
        return;
    };
    let imported = import(&Path::new(&data).join("gpu-clocks")).unwrap();
    assert_eq!((imported.clock_rows, imported.limit_rows), (5215, 39));
    for gpu in &imported.gpus {
        let file = format!("instances/gpus/{}.json", gpu.id.to_ascii_lowercase());
        let shipped = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        assert_eq!(&read::<GpuFile>(&shipped).unwrap().document, gpu);
    }
    // As the provenance of the tables states them: V100 167 clocks from 135 to 1380, H100 110 at each memory clock.
    let clocks = |id: &str| imported.gpus.iter().find(|gpu| gpu.id == id).unwrap().pairs().collect::<Vec<_>>();
    assert_eq!((clocks("V100").len(), clocks("V100")[0], clocks("V100")[166]), (167, (877, 135), (877, 1380)));
    assert_eq!(clocks("H100").len(), 220);
    assert_eq!(clocks("RTX3090").len(), 4 * 127 + 15);
}
