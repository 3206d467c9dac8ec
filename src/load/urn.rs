//! Which request of a mix comes next. Each thread has an urn with as many balls of each request as its weight, draws without
//! putting back, and fills it again when it is empty. So the weights are exact in each block of draws and not only in the long
//! run, the order has no period that a server could answer to, and it follows from the run's seed. A round-robin by weights would
//! be as exact, but all threads would send the same at the same time, again and again.

use super::request::Prepared;

/// The urn of one thread.
#[derive(Debug)]
pub(super) struct Urn {
    /// The weights without their common divisor.
    weights: Vec<u32>,
    left: Vec<u32>,
    /// How many balls there are in it.
    balls: u64,
    chance: fastrand::Rng,
}

impl Urn {
    /// The urn of a thread for these requests.
    pub(super) fn new(requests: &[Prepared], seed: u64) -> Self {
        Self::of(requests.iter().map(|one| one.weight), seed)
    }

    fn of(weights: impl Iterator<Item = u32> + Clone, seed: u64) -> Self {
        let divisor = weights.clone().fold(0, divisor).max(1);
        let weights: Vec<u32> = weights.map(|weight| weight / divisor).collect();
        Self {
            left: vec![0; weights.len()],
            weights,
            balls: 0,
            chance: fastrand::Rng::with_seed(seed),
        }
    }

    /// The index of the next request.
    #[inline]
    pub(super) fn draw(&mut self) -> usize {
        if self.weights.len() == 1 {
            return 0;
        }
        self.draw_of_many()
    }

    fn draw_of_many(&mut self) -> usize {
        if self.balls == 0 {
            self.left.copy_from_slice(&self.weights);
            self.balls = self.weights.iter().copied().map(u64::from).sum();
        }
        let mut ball = self.chance.u64(0..self.balls);
        self.balls -= 1;
        for (index, left) in self.left.iter_mut().enumerate() {
            if ball < u64::from(*left) {
                *left -= 1;
                return index;
            }
            ball -= u64::from(*left);
        }
        0
    }
}

fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urn(weights: &[u32], seed: u64) -> Urn {
        Urn::of(weights.iter().copied(), seed)
    }

    #[test]
    fn each_block_has_the_weights_exactly_and_another_order() {
        let mut urn = urn(&[70, 20, 8, 2], 1);
        let mut orders = std::collections::BTreeSet::new();
        for _ in 0..100 {
            // Their common divisor is 2.
            let block: Vec<usize> = (0..50).map(|_| urn.draw()).collect();
            let count = |which| block.iter().filter(|one| **one == which).count();
            assert_eq!([0, 1, 2, 3].map(count), [35, 10, 4, 1]);
            orders.insert(block);
        }
        assert_eq!(orders.len(), 100);
    }

    #[test]
    fn the_order_follows_from_the_seed() {
        let order = |seed| {
            let mut urn = urn(&[3, 2], seed);
            (0..100).map(|_| urn.draw()).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn large_weights_take_no_room() {
        let mut urn = urn(&[u32::MAX, 1], 1);
        assert_eq!((0..1000).filter(|_| urn.draw() == 0).count(), 1000);
        assert_eq!(self::urn(&[5], 1).draw(), 0);
    }
}
