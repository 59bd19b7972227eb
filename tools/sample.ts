/** Some of them at random, or all if there are no more. */
export function sampleOf<One>(all: readonly One[], count: number): readonly One[] {
  return all
    .map((one) => ({ one, place: Math.random() }))
    .toSorted((first, second) => first.place - second.place)
    .slice(0, count)
    .map(({ one }) => one)
}
