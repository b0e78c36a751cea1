//! Records under small numbers that are used again.

#[derive(Clone, Debug, Default)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub fn new() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
        }
    }

    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.items[place as usize] = item;
                place
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub fn remove(&mut self, place: u32) -> T {
        self.free.push(place);
        self.items[place as usize]
    }

    #[inline]
    pub fn get(&self, place: u32) -> &T {
        &self.items[place as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, place: u32) -> &mut T {
        &mut self.items[place as usize]
    }

    /// Records in use.
    pub fn used(&self) -> usize {
        self.items.len() - self.free.len()
    }
}
