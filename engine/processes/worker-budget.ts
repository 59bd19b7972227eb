export interface BudgetMember {
  /** Steps that run now or are being claimed. */
  readonly inHand: number
  wakeUp(): void
}

/** Limits the steps that run at a time, of one process or of several together. */
export class WorkerBudget {
  readonly #workers: number
  readonly #members: BudgetMember[] = []

  constructor(workers: number) {
    this.#workers = workers
  }

  /** Work that fails holds no more of a process, so that it does not hold up new work. */
  get quarter(): number {
    return Math.max(1, Math.floor(this.#workers / 4))
  }

  add(member: BudgetMember): void {
    this.#members.push(member)
  }

  /** How many more steps a process may begin. Half of an equal quota stays free for each of the others. */
  roomFor(member: BudgetMember): number {
    const kept = Math.max(1, Math.floor(this.#workers / this.#members.length / 2))
    let free = this.#workers
    let keptForOthers = 0
    for (const each of this.#members) {
      free -= each.inHand
      if (each !== member) keptForOthers += Math.max(0, kept - each.inHand)
    }
    // With fewer workers than processes, each may still run one step.
    const least = member.inHand === 0 ? Math.min(1, free) : 0
    return Math.max(least, free - keptForOthers)
  }

  /** There is room. Wakes all, first the process with the fewest steps: it claims first. */
  freed(): void {
    for (const member of this.#members.toSorted((one, other) => one.inHand - other.inHand)) member.wakeUp()
  }
}
