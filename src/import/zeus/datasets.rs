//! Published sizes of the data sets and networks that Zeus trained.

use rats_domain::format::{Figure, Kind};

/// A data set.
pub(super) struct Dataset {
    name: &'static str,
    /// Samples of one epoch.
    pub samples: f64,
    /// Whether the number follows from the data set's name or is a guess about how it was used.
    pub kind: Kind,
    /// Where the number comes from.
    pub note: &'static str,
    /// Bytes read from the shared store for one sample.
    pub input_bytes: f64,
    /// Where that comes from.
    pub input_note: &'static str,
}

const CACHED: &str = "the data set fits in the memory of a node and is read once";

const ALL: [Dataset; 6] = [
    Dataset {
        name: "cifar100",
        samples: 50_000.0,
        kind: Kind::Derived,
        note: "CIFAR-100 has 50,000 training images",
        input_bytes: 0.0,
        input_note: CACHED,
    },
    Dataset {
        name: "imagenet",
        samples: 1_281_167.0,
        kind: Kind::Derived,
        note: "ImageNet 2012 has 1,281,167 training images",
        input_bytes: 108_000.0,
        input_note: "138 GB of training images / 1,281,167, none cached",
    },
    Dataset {
        name: "librispeech",
        samples: 281_241.0,
        kind: Kind::Assumed,
        note: "all 960 h of LibriSpeech, 281,241 utterances; which part was used is not stated",
        input_bytes: 213_000.0,
        input_note: "60 GB of FLAC / 281,241, none cached",
    },
    Dataset {
        name: "movielens-1m",
        samples: 4_970_845.0,
        kind: Kind::Assumed,
        note: "994,169 ratings left after one a user is held out, each with 4 negative samples; not stated",
        input_bytes: 0.0,
        input_note: CACHED,
    },
    Dataset {
        name: "sentiment140",
        samples: 1_600_000.0,
        kind: Kind::Assumed,
        note: "all 1,600,000 tweets of Sentiment140; which part was used is not stated",
        input_bytes: 0.0,
        input_note: CACHED,
    },
    Dataset {
        name: "squad",
        samples: 88_524.0,
        kind: Kind::Assumed,
        note: "SQuAD 1.1 cut into 88,524 features of 384 tokens; version and cut are not stated",
        input_bytes: 0.0,
        input_note: CACHED,
    },
];

/// A data set by its name in the traces.
pub(super) fn find(name: &str) -> Option<&'static Dataset> {
    ALL.iter().find(|dataset| dataset.name == name)
}

/// Bytes of a network's gradients in fp32, where the network's size is public.
pub(super) fn gradient_bytes(network: &str) -> Option<Figure> {
    let (parameters, note) = match network {
        "resnet18" => (11_689_512.0, "11,689,512 parameters x 4 bytes"),
        "resnet50" => (25_557_032.0, "25,557,032 parameters x 4 bytes"),
        "bert_base_uncased" | "bert-base-uncased" => (109_482_240.0, "109,482,240 parameters x 4 bytes"),
        "deepspeech2" => (86_600_000.0, "about 86.6 million parameters x 4 bytes"),
        "shufflenetv2" => (1_356_104.0, "1,356,104 parameters of width 1.0 and 100 classes x 4 bytes"),
        _ => return None,
    };
    Some(Figure::assumed(parameters * 4.0, format!("{note}; variant and precision not stated")))
}
