/**
 * The bound of a cache by its number of entries, for `lru-cache`. With `max` instead, it takes the memory of all entries
 * when it is made, and a dozen caches take a hundredth of a start.
 */
export function atMost(entries: number) {
  return { maxSize: entries, sizeCalculation: () => 1 } as const
}
