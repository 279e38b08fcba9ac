//! Tests of the importers on excerpts of their layouts, on damaged files, on noise and on the full data.

mod damaged;
mod fuzz;
mod kernels;
mod library;
mod samples;

use super::{Imported, Input, Source, import_files};

/// A file that the user named.
fn input(name: &str, text: impl AsRef<[u8]>) -> Input {
    Input { name: name.to_owned(), bytes: text.as_ref().to_vec(), named: true }
}

/// One file, imported.
fn import_one(source: Source, name: &str, text: impl AsRef<[u8]>) -> Imported {
    import_files(source, &[input(name, text)])
}

/// A header and rows.
fn table(header: &str, rows: &[&str]) -> String {
    let mut text = format!("{header}\n");
    for row in rows {
        text.extend([row, "\n"]);
    }
    text
}

const ZEUS: &str = "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power";
const ZEUS_TRAIN: &str = "dataset,network,batch_size,optimizer,learning_rate,run,target_metric,target_epoch";
const ZEUS_WINDOW: &str = "start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy";
const STAGE: &str = "stage,instruction,frequency,time,energy";
const RUNS: &str = "method,gpu,model,partition,dp,pp,tp,microbatch_size,num_microbatches,plan_index,rank,n_iters,\
                    first_iter_time_s,mean_iter_time_s,mean_iter_energy_j,min_power_state,max_power_state";
const SUMS: &str = "model_name,dp,tp,pp,power_limit_0,power_limit_1,time,energy";
const TTU: &str = ",application,sm_app_clock,power_usage,run_time";
const ALONE: &str = "source,gpu,job,scale_factor,steps_per_s";
const PAIRS: &str = "source,gpu,job1,scale_factor1,job2,scale_factor2,steps_per_s_job1,steps_per_s_job2";
const MURI: &str = "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,\
                    resource_time_0,resource_time_1,resource_time_2,priority";
const CSV: &str = "model,gpu_type,sm_mhz,power_limit_w,step_s,power_w,gpus,gradient_bytes,overlap,consolidated";
const PTX: &str = "benchmark,mem_clock_mhz,core_clock_mhz,time,power_w,energy";
const MPT: &str = "section,Model,SeqLen (T),# GPUs,GPU,MFU,HFU,Model TFLOP,MicroBatchSize,GradAccum,GlobalBatchSize,\
                   Throughput (S/s),Throughput (T/s),Throughput (T/s/GPU),GlobalBatchSize (T),Precision,MP Mode,\
                   Sharding Strategy,Activation Checkpointing,Activation CPUOffload,NumParams";
const POWER: &str = "2\n975,3505\n2,1\nSP ADD,L2,DRAM\n";
