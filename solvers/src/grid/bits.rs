//! Sets of ticks as bits of 64-bit words.
//!
//! A set is a slice of words; tick t is bit t mod 64 of word t / 64. Bits at or beyond the horizon are never set, so a
//! search for a tick outside a set ends there.

/// Number of words that hold this many ticks; one more than needed, so that there is always a tick outside.
pub fn words(ticks: usize) -> usize {
    ticks / 64 + 1
}

/// The bits of word `word` that lie in `[from, to)`.
pub fn mask(word: usize, from: usize, to: usize) -> u64 {
    let low = from.saturating_sub(word * 64).min(64);
    let high = to.saturating_sub(word * 64).min(64);
    if low >= high { 0 } else { (u64::MAX >> (64 - (high - low))) << low }
}

/// Adds the ticks `[from, to)`.
pub fn insert(bits: &mut [u64], from: usize, to: usize) {
    if from < to {
        for (word, bits) in bits.iter_mut().enumerate().take((to - 1) / 64 + 1).skip(from / 64) {
            *bits |= mask(word, from, to);
        }
    }
}

/// Takes the ticks `[from, to)` out.
pub fn remove(bits: &mut [u64], from: usize, to: usize) {
    if from < to {
        for (word, bits) in bits.iter_mut().enumerate().take((to - 1) / 64 + 1).skip(from / 64) {
            *bits &= !mask(word, from, to);
        }
    }
}

/// Keeps what is also in `other`.
pub fn intersect(bits: &mut [u64], other: &[u64]) {
    for (bits, other) in bits.iter_mut().zip(other) {
        *bits &= other;
    }
}

/// Whether all ticks of `[from, to)` are in.
pub fn holds(bits: &[u64], from: usize, to: usize) -> bool {
    from >= to
        || (from / 64..=(to - 1) / 64).all(|word| {
            let mask = mask(word, from, to);
            bits[word] & mask == mask
        })
}

/// Whether this tick is in.
pub fn has(bits: &[u64], tick: usize) -> bool {
    bits[tick / 64] >> (tick % 64) & 1 == 1
}

/// Whether nothing is in.
pub fn is_empty(bits: &[u64]) -> bool {
    bits.iter().all(|&bits| bits == 0)
}

/// How many ticks are in.
pub fn count(bits: &[u64]) -> usize {
    bits.iter().map(|bits| bits.count_ones() as usize).sum()
}

/// The first tick from `from` on that is in.
pub fn next(bits: &[u64], from: usize) -> Option<usize> {
    let mut word = from / 64;
    let mut rest = bits.get(word)? & (u64::MAX << (from % 64));
    while rest == 0 {
        word += 1;
        rest = *bits.get(word)?;
    }
    Some(word * 64 + rest.trailing_zeros() as usize)
}

/// The first tick from `from` on that is not in.
pub fn next_gap(bits: &[u64], from: usize) -> usize {
    let mut word = from / 64;
    let Some(first) = bits.get(word) else { return from };
    let mut rest = !first & (u64::MAX << (from % 64));
    while rest == 0 {
        word += 1;
        match bits.get(word) {
            Some(bits) => rest = !bits,
            None => return word * 64,
        }
    }
    word * 64 + rest.trailing_zeros() as usize
}

/// The last tick up to `to` (inclusive) that is in.
pub fn previous(bits: &[u64], to: usize) -> Option<usize> {
    let mut word = (to / 64).min(bits.len() - 1);
    let shift = if word == to / 64 { 63 - to % 64 } else { 0 };
    let mut rest = bits[word] & (u64::MAX >> shift);
    while rest == 0 {
        word = word.checked_sub(1)?;
        rest = bits[word];
    }
    Some(word * 64 + 63 - rest.leading_zeros() as usize)
}

/// The maximal stretch of ticks that are in, around one that is.
pub fn block(bits: &[u64], tick: usize) -> (usize, usize) {
    let mut from = tick;
    while from > 0 && has(bits, from - 1) {
        from -= 1;
    }
    (from, next_gap(bits, tick))
}

/// Turns ticks into starts: keeps t if `[t, t + length)` was in.
pub fn erode(bits: &mut [u64], length: usize) {
    let mut reached = 1;
    while reached < length {
        let shift = reached.min(length - reached);
        intersect_shifted(bits, shift);
        reached += shift;
    }
}

/// Keeps t if `t + shift` was in as well.
fn intersect_shifted(bits: &mut [u64], shift: usize) {
    let (skip, bit) = (shift / 64, shift % 64);
    for word in 0..bits.len() {
        let low = bits.get(word + skip).copied().unwrap_or(0);
        let high = bits.get(word + skip + 1).copied().unwrap_or(0);
        bits[word] &= if bit == 0 { low } else { low >> bit | high << (64 - bit) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rats_domain::random::Random;

    #[test]
    fn operations_equal_those_on_lists_of_ticks() {
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let horizon = 1 + random.below(200);
            let mut list = vec![random.chance(50); horizon];
            for _ in 0..random.below(6) {
                let (from, to) = (random.below(horizon), random.below(horizon + 1));
                (from..to).for_each(|tick| list[tick] = !list[tick]);
            }
            let mut bits = vec![0; words(horizon)];
            (0..horizon).filter(|&tick| list[tick]).for_each(|tick| insert(&mut bits, tick, tick + 1));
            let is_in = |tick: usize| list.get(tick).copied().unwrap_or(false);
            let (from, to) = (random.below(horizon), random.below(horizon + 1));
            assert_eq!(next(&bits, from), (from..horizon).find(|&tick| is_in(tick)));
            assert_eq!(Some(next_gap(&bits, from)), (from..=horizon).find(|&tick| !is_in(tick)));
            assert_eq!(previous(&bits, from), (0..=from).rev().find(|&tick| is_in(tick)));
            assert_eq!(holds(&bits, from, to), (from..to).all(is_in));
            assert_eq!(count(&bits), (0..horizon).filter(|&tick| is_in(tick)).count());
            let length = 1 + random.below(horizon);
            erode(&mut bits, length);
            for start in 0..horizon {
                assert_eq!(has(&bits, start), (start..start + length).all(is_in), "{start} {length} {horizon}");
            }
        }
    }
}
