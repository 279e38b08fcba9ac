//! The library as `nvml-wrapper` sees it. A process has one simulated machine, so each test runs in a process of its own.

use crate::common::{Machine, again, library, part, uuid};
use nvml_sim::config::{Config, Privilege};
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, ClockId, TemperatureSensor, TopologyLevel};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{NVML_FI_DEV_POWER_INSTANT, NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION};

/// Runs a body in a process of its own that has the machine and the library.
fn through_the_library(test: &str, change: impl FnOnce(&mut Config), body: impl FnOnce(&Nvml)) {
    if part().is_some() {
        body(&Nvml::builder().lib_path(library().as_os_str()).init().unwrap());
        return;
    }
    let machine = Machine::new(change);
    let output = again(&format!("abi::{test}"), &machine, "inner").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn devices_are_found_by_index_uuid_and_bus() {
    through_the_library(
        "devices_are_found_by_index_uuid_and_bus",
        |_| {},
        |nvml| {
            assert_eq!(nvml.device_count().unwrap(), 6);
            let device = nvml.device_by_index(2).unwrap();
            assert_eq!((device.name().unwrap(), device.uuid().unwrap()), ("NVIDIA Example".into(), uuid(2)));
            assert_eq!(nvml.device_by_uuid(uuid(2)).unwrap().index().unwrap(), 2);
            assert_eq!(nvml.device_by_pci_bus_id("0000:47:00.0").unwrap().index().unwrap(), 2);
            assert_eq!(device.pci_info().unwrap().bus_id, "00000000:47:00.0");
            assert_eq!(device.memory_info().unwrap().total, 40960 << 20);
            assert!(matches!(nvml.device_by_index(6), Err(NvmlError::InvalidArg)));
            assert!(matches!(nvml.device_by_uuid("GPU-none"), Err(NvmlError::NotFound)));
        },
    );
}

#[test]
fn clocks_are_listed_locked_and_reset() {
    through_the_library(
        "clocks_are_listed_locked_and_reset",
        |_| {},
        |nvml| {
            let mut device = nvml.device_by_index(0).unwrap();
            assert_eq!(device.supported_memory_clocks().unwrap(), [1000, 500]);
            assert_eq!(device.supported_graphics_clocks(1000).unwrap(), [1500, 1000, 750, 500, 250]);
            assert!(matches!(device.supported_graphics_clocks(999), Err(NvmlError::NotFound)));
            device
                .set_gpu_locked_clocks(nvml_wrapper::enums::device::GpuLockedClocksSetting::Numeric {
                    min_clock_mhz: 1100,
                    max_clock_mhz: 1100,
                })
                .unwrap();
            assert_eq!(device.clock(Clock::SM, ClockId::Current).unwrap(), 1000);
            device.set_mem_locked_clocks(500, 500).unwrap();
            assert_eq!(device.clock_info(Clock::Memory).unwrap(), 500);
            device.reset_mem_locked_clocks().unwrap();
            device.reset_gpu_locked_clocks().unwrap();
            assert_eq!(device.clock_info(Clock::SM).unwrap(), 250);
            assert!(matches!(device.set_mem_locked_clocks(1000, 500), Err(NvmlError::InvalidArg)));
            assert_eq!(device.current_throttle_reasons().unwrap(), ThrottleReasons::GPU_IDLE);
        },
    );
}

#[test]
fn limits_have_a_range() {
    through_the_library(
        "limits_have_a_range",
        |_| {},
        |nvml| {
            let mut device = nvml.device_by_index(0).unwrap();
            let range = device.power_management_limit_constraints().unwrap();
            assert_eq!((range.min_limit, range.max_limit), (100_000, 500_000));
            assert_eq!(device.power_management_limit_default().unwrap(), 400_000);
            device.set_power_management_limit(250_000).unwrap();
            assert_eq!(device.power_management_limit().unwrap(), 250_000);
            assert_eq!(device.enforced_power_limit().unwrap(), 250_000);
            assert!(matches!(device.set_power_management_limit(99_999), Err(NvmlError::InvalidArg)));
            assert_eq!(device.power_management_limit().unwrap(), 250_000);
        },
    );
}

#[test]
fn power_energy_and_temperature_are_read() {
    through_the_library(
        "power_energy_and_temperature_are_read",
        |config| config.speedup = 1000.0,
        |nvml| {
            let device = nvml.device_by_index(0).unwrap();
            assert_eq!(device.power_usage().unwrap(), 50_000);
            let before = device.total_energy_consumption().unwrap();
            // A tick of 100 ms passes in 0.1 ms.
            while device.total_energy_consumption().unwrap() == before {}
            assert_eq!(device.temperature(TemperatureSensor::Gpu).unwrap(), 32);
            let fields = [NVML_FI_DEV_POWER_INSTANT, NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, 1];
            let values = device.field_values_for(&fields.map(FieldId)).unwrap();
            assert!(format!("{:?}", values[0]).contains("50000"), "{values:?}");
            assert!(values[1].is_ok());
            assert!(values[2].as_ref().is_err() || values[2].as_ref().is_ok_and(|sample| sample.value.is_err()));
        },
    );
}

#[test]
fn old_generations_have_what_they_had() {
    through_the_library(
        "old_generations_have_what_they_had",
        |_| {},
        |nvml| {
            let mut device = nvml.device_by_index(4).unwrap();
            let lock =
                nvml_wrapper::enums::device::GpuLockedClocksSetting::Numeric { min_clock_mhz: 500, max_clock_mhz: 500 };
            assert!(matches!(device.set_gpu_locked_clocks(lock), Err(NvmlError::NotSupported)));
            assert!(matches!(device.set_mem_locked_clocks(500, 500), Err(NvmlError::NotSupported)));
            assert!(matches!(device.total_energy_consumption(), Err(NvmlError::NotSupported)));
            assert!(matches!(device.mig_mode(), Err(NvmlError::NotSupported)));
            device.set_applications_clocks(1000, 1500).unwrap();
            assert_eq!(device.applications_clock(Clock::Graphics).unwrap(), 1500);
            assert!(matches!(device.set_applications_clocks(1000, 1400), Err(NvmlError::InvalidArg)));
            device.reset_applications_clocks().unwrap();
            assert_eq!(device.applications_clock(Clock::Graphics).unwrap(), 1000);
        },
    );
}

#[test]
fn topology_is_that_of_the_configuration() {
    through_the_library(
        "topology_is_that_of_the_configuration",
        |_| {},
        |nvml| {
            let device = |index| nvml.device_by_index(index).unwrap();
            let level = |first, second| device(first).topology_common_ancestor(device(second)).unwrap();
            assert_eq!(level(0, 1), TopologyLevel::Single);
            assert_eq!(level(0, 2), TopologyLevel::Multiple);
            assert_eq!(level(0, 3), TopologyLevel::Node);
            assert_eq!(level(0, 4), TopologyLevel::System);
            assert_eq!(level(4, 5), TopologyLevel::Internal);
            let (first, second) = (device(0), device(1));
            assert!(first.link_wrapper_for(1).is_active().unwrap());
            assert_eq!(second.link_wrapper_for(0).remote_pci_info().unwrap().bus_id, "00000000:07:00.0");
            assert!(first.link_wrapper_for(2).is_active().is_err());
        },
    );
}

#[test]
fn without_permission_nothing_is_set() {
    let nobody = |config: &mut Config| config.settings_need = Privilege::Nobody;
    through_the_library("without_permission_nothing_is_set", nobody, |nvml| {
        let mut device = nvml.device_by_index(0).unwrap();
        assert!(matches!(device.set_power_management_limit(250_000), Err(NvmlError::NoPermission)));
        assert!(matches!(device.reset_gpu_locked_clocks(), Err(NvmlError::NoPermission)));
        assert_eq!(device.power_management_limit().unwrap(), 400_000);
    });
}

#[test]
fn a_library_without_a_configuration_says_so() {
    if part().is_some() {
        let result = Nvml::builder().lib_path(library().as_os_str()).init();
        assert!(matches!(result, Err(NvmlError::DriverNotLoaded)));
        return;
    }
    let machine = Machine::new(|_| {});
    let mut command = again("abi::a_library_without_a_configuration_says_so", &machine, "inner");
    let output = command.env_remove("NVML_SIM_CONFIG").output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("NVML_SIM_CONFIG names no file"));
}

#[test]
fn faults_can_be_injected_into_a_running_client() {
    through_the_library(
        "faults_can_be_injected_into_a_running_client",
        |_| {},
        |nvml| {
            let simulator = nvml_sim::simulator::Simulator::from_environment().unwrap();
            let inject = |text: &str| simulator.inject(&serde_json::from_str::<Vec<_>>(text).unwrap()).unwrap();
            let device = nvml.device_by_index(0).unwrap();
            assert!(device.power_usage().is_ok());
            inject(r#"[{"kind": "gpu_lost", "gpu": 0}]"#);
            assert!(matches!(device.power_usage(), Err(NvmlError::GpuLost)));
            assert!(nvml.device_by_index(1).unwrap().power_usage().is_ok());
            inject(r#"[{"kind": "driver_gone"}]"#);
            assert!(matches!(nvml.device_count(), Err(NvmlError::DriverNotLoaded)));
            inject(r#"[{"kind": "counter_missing"}, {"kind": "hang", "seconds": 0.01, "times": 1}]"#);
            assert!(matches!(device.total_energy_consumption(), Err(NvmlError::NotSupported)));
            inject("[]");
            assert!(device.total_energy_consumption().is_ok());
        },
    );
}
