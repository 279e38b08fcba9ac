//! From the name that a driver reports to the kind of GPU as profiles, scenarios and instances call it.

/// Products whose kind has a shorter name in shipped profiles than its product name gives.
const KINDS: [(&str, &str); 15] = [
    ("Tesla V100-PCIE-32GB", "v100"),
    ("Tesla V100-PCIE-16GB", "v100"),
    ("Tesla V100-SXM2-32GB", "v100-sxm2"),
    ("Tesla V100-SXM2-16GB", "v100-sxm2"),
    ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
    ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
    ("NVIDIA H100 80GB HBM3", "h100"),
    ("NVIDIA H100 NVL", "h100-nvl"),
    ("NVIDIA H200", "h200"),
    ("NVIDIA A40", "a40"),
    ("Tesla P100-PCIE-16GB", "p100"),
    ("Tesla K80", "k80"),
    ("Quadro RTX 6000", "rtx6000"),
    ("NVIDIA GeForce RTX 3090", "rtx3090"),
    ("Tesla T4", "t4"),
];

/// The kind of a product: a shipped one, or else the words of its name that tell it from others, in lower case.
pub fn type_id(product: &str) -> String {
    if let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == product) {
        return (*kind).to_owned();
    }
    let maker = ["NVIDIA", "GeForce", "Tesla", "Graphics", "Device", "Generation"];
    let words: Vec<_> = product.split_whitespace().filter(|word| !maker.contains(word)).collect();
    let kind = words.join("-").replace('/', "-").to_lowercase();
    if kind.is_empty() { "gpu".to_owned() } else { kind }
}

#[cfg(test)]
mod tests {
    use super::type_id;

    #[test]
    fn shipped_kinds_keep_their_name_and_others_lose_the_maker() {
        assert_eq!(type_id("Tesla V100-PCIE-32GB"), "v100");
        assert_eq!(type_id("NVIDIA A40"), "a40");
        assert_eq!(type_id("NVIDIA RTX 4000 SFF Ada Generation"), "rtx-4000-sff-ada");
        assert_eq!(type_id("NVIDIA A100-PCIE-40GB"), "a100-pcie-40gb");
        assert_eq!(type_id("NVIDIA"), "gpu");
    }
}
