//! How fast a counter moves that is only seen now and then and only moves now and then.
//!
//! # Idea
//! An energy counter moves every 100 ms, a step counter with every line of output. Two looks at it, as they fall, are off by
//! up to such a period each. The moments at which it *moved* are known better: between two looks of which only the
//! later one shows the new value. The rate is taken between two such moments.
//!
//! # Model
//! A look begins at `from` and ends at `to`; the move lies between the `from` of the look before and the `to` of the look
//! that shows it. The relative error of a rate between two moves is at most (half of both brackets) / time between them; of the
//! pairs of a move of the first third and one of the last third the one with the least error is taken.
//!
//! # Complexity
//! O(moves^2).
//!
//! # Limits
//! A counter that runs backwards (wraps, restarts) begins anew there: the longest run without a step back is used.

/// One look at a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// When it began, s.
    pub from_s: f64,
    /// When it ended, s.
    pub to_s: f64,
    /// What it showed.
    pub value: f64,
}

/// The rate of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Units in a second.
    pub per_s: f64,
    /// By how much it can be off because of when was looked, relative.
    pub error: f64,
    /// Units between the two moves.
    pub units: f64,
    /// Time between them, s.
    pub span_s: f64,
}

#[derive(Clone, Copy, Debug)]
struct Move {
    at_s: f64,
    bracket_s: f64,
    value: f64,
}

/// The rate between two moves of the counter; `None` if it moved less than twice.
pub fn rate(looks: &[Look]) -> Option<Rate> {
    let moves = longest_run(looks);
    let third = moves.len().div_ceil(3);
    let error =
        |(first, last): &(Move, Move)| f64::midpoint(first.bracket_s, last.bracket_s) / (last.at_s - first.at_s);
    let lasts = moves.get(moves.len() - third..)?;
    let pairs = moves.iter().take(third).flat_map(|&first| lasts.iter().map(move |&last| (first, last)));
    let later = pairs.filter(|(first, last)| last.at_s > first.at_s);
    let (first, last) = later.min_by(|a, b| error(a).total_cmp(&error(b)))?;
    let (span_s, units) = (last.at_s - first.at_s, last.value - first.value);
    Some(Rate { per_s: units / span_s, error: error(&(first, last)), units, span_s })
}

fn longest_run(looks: &[Look]) -> Vec<Move> {
    let (mut best, mut run): (Vec<Move>, Vec<Move>) = (Vec::new(), Vec::new());
    for pair in looks.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        if after.value < before.value {
            if run.len() > best.len() {
                best = std::mem::take(&mut run);
            }
            run.clear();
        } else if after.value > before.value {
            let (at_s, bracket_s) = (f64::midpoint(before.from_s, after.to_s), after.to_s - before.from_s);
            run.push(Move { at_s, bracket_s, value: after.value });
        }
    }
    if run.len() > best.len() { run } else { best }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at_s: f64, value: f64) -> Look {
        Look { from_s: at_s, to_s: at_s, value }
    }

    /// A counter of 200 W that ticks every 100 ms, looked at every 7 ms.
    fn ticking(until_s: f64) -> Vec<Look> {
        let mut looks = Vec::new();
        let mut at_s = 0.0;
        while at_s < until_s {
            looks.push(look(at_s, 200.0 * 0.1 * (at_s / 0.1 + 1e-9).floor()));
            at_s += 0.007;
        }
        looks
    }

    #[test]
    fn moves_tell_the_rate_better_than_looks() {
        // Brackets of 7 ms over about 1.9 s: at most 0.4 % off, where the looks themselves are up to 10 % off.
        let rate = rate(&ticking(2.0)).unwrap();
        assert!((rate.per_s / 200.0 - 1.0).abs() < 0.004, "{rate:?}");
        assert!(rate.error < 0.006, "{rate:?}");
    }

    #[test]
    fn a_counter_that_stands_still_or_moves_once_has_no_rate() {
        assert_eq!(rate(&[look(0.0, 5.0), look(1.0, 5.0), look(2.0, 5.0)]), None);
        assert_eq!(rate(&[look(0.0, 5.0), look(1.0, 6.0)]), None);
        assert_eq!(rate(&[]), None);
    }

    #[test]
    fn a_counter_that_starts_again_is_followed_where_it_runs_longest() {
        // 1 a second up to 3, back to 0, then 1 a second up to 9.
        let values: Vec<f64> = (0..4).chain(0..10).map(f64::from).collect();
        let looks: Vec<Look> = values.iter().enumerate().map(|(at, &value)| look(at as f64, value)).collect();
        let rate = rate(&looks).unwrap();
        assert!((rate.per_s - 1.0).abs() < 1e-12 && rate.units <= 8.0, "{rate:?}");
    }

    #[test]
    fn a_slow_look_is_no_edge() {
        // The look at 0.2 s took 50 ms: its moves have wide brackets, so others are taken.
        let mut looks = ticking(2.0);
        looks[30].to_s += 0.05;
        assert!(rate(&looks).unwrap().error < 0.006);
    }
}
