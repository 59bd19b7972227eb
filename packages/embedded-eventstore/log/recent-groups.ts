const KEPT_BYTES = 4 << 20

/** The newest groups as they were written. Live subscriptions read them from memory instead of the file. */
export class RecentGroups {
  private readonly groups: { start: number; bytes: Buffer }[] = []
  private held = 0

  add(start: number, bytes: Buffer): void {
    this.groups.push({ start, bytes })
    this.held += bytes.length
    let dropped = 0
    while (this.held > KEPT_BYTES && dropped < this.groups.length - 1) {
      this.held -= this.groups[dropped]?.bytes.length ?? 0
      dropped += 1
    }
    if (dropped > 0) this.groups.splice(0, dropped)
  }

  /** The bytes from a frame's position to the end of its group, if they are in memory. */
  at(position: number): Buffer | undefined {
    let low = 0
    let high = this.groups.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const group = this.groups[middle]
      if (group === undefined) return undefined
      if (position < group.start) high = middle - 1
      else if (position >= group.start + group.bytes.length) low = middle + 1
      else return group.bytes.subarray(position - group.start)
    }
    return undefined
  }
}
