import { Group } from '../../persistent/group.ts'
import type { GroupSettings } from '../../persistent/group-settings.ts'
import type { GroupCommand, Message, SourcePage } from '../../persistent/message.ts'

export type Fact = { n: number; key: string; isForeign: boolean }
type Out = { message: Message<Fact>; consumer: string; expiresAt: number }
type Parked = { n: number; isDone: boolean }

/** Largest number of events that one page of the source examines. */
const WINDOW = 7

/**
 * The simplest environment of a group: a source in memory, consumers, a clock. It checks every command. No consumer
 * gets more than it has room for. No finished message returns. No checkpoint passes an unfinished message.
 */
export class GroupWorld {
  now = 0
  readonly done = new Set<number>()
  readonly parked: Parked[] = []
  readonly out = new Map<string, Out>()
  readonly consumers = new Map<string, number>()
  checkpoint: number | undefined
  private readonly facts: Fact[] = []
  private readonly reads: GroupCommand<Fact>[] = []
  private readonly doneBefore = new Set<number>()
  private readonly settings: GroupSettings
  private group: Group<Fact>
  private cut = 0
  private passed = 0

  constructor(settings: GroupSettings) {
    this.settings = settings
    this.group = this.begin()
  }

  get state(): Group<Fact>['state'] {
    return this.group.state
  }

  append(isForeign: boolean, key: string): void {
    this.facts.push({ n: this.facts.length, key, isForeign })
  }

  /** Passes appended events to the group. A read may have returned them before. */
  passNews(): void {
    for (const fact of this.facts.slice(this.passed)) {
      this.passed = fact.n + 1
      if (fact.isForeign) this.perform(this.group.appendedElsewhere(fact.n, this.now))
      else this.perform(this.group.appended(this.sourceEvent(fact), this.now))
    }
  }

  connect(id: string, bufferSize: number): void {
    if (this.consumers.has(id)) return
    this.consumers.set(id, bufferSize)
    this.perform(this.group.addConsumer(id, bufferSize, this.now))
  }

  disconnect(id: string): void {
    this.consumers.delete(id)
    for (const [key, { consumer }] of this.out) if (consumer === id) this.out.delete(key)
    this.perform(this.group.removeConsumer(id, this.now))
  }

  /** Answers one outstanding message, chosen by number. */
  answer(choice: number, action: 'ack' | 'park' | 'retry' | 'skip' | 'stop'): void {
    const ids = [...this.out.keys()]
    const id = ids[choice % Math.max(1, ids.length)]
    const answered = id === undefined ? undefined : this.out.get(id)
    if (id === undefined || answered === undefined) return
    this.out.delete(id)
    if (action === 'ack' || action === 'skip' || action === 'stop') this.finish(answered.message)
    this.perform(action === 'ack' ? this.group.ack([id], this.now) : this.group.nack([id], action, 'why', this.now))
  }

  /** Acknowledges a message again that is no longer outstanding. */
  answerLate(n: number): void {
    if (!this.out.has(`id-${n}`)) this.perform(this.group.ack([`id-${n}`], this.now))
  }

  tick(milliseconds: number): void {
    this.now += milliseconds
    for (const [id, { expiresAt }] of this.out) if (expiresAt <= this.now) this.out.delete(id)
    this.perform(this.group.tick(this.now))
  }

  replay(stopAt: number): void {
    if (this.parked.length > 0) this.perform(this.group.replayParked(this.cut, Math.min(stopAt, this.parked.length)))
  }

  /** Completes one read of the group. */
  read(): void {
    const command = this.reads.shift()
    if (command?.kind === 'read') this.perform(this.group.pageRead(this.page(command.from, command.count), this.now))
    else if (command?.kind === 'read-parked')
      this.perform(this.group.parkedRead(this.parkedPage(command.from, command.count), this.now))
  }

  /** Stops the node at any moment and starts it again. Only the last checkpoint and the parked messages survive. */
  restart(): void {
    this.consumers.clear()
    this.out.clear()
    this.reads.length = 0
    for (const n of this.done) this.doneBefore.add(n)
    this.done.clear()
    // A message handled after its replay but not yet truncated stays parked.
    for (const parked of this.parked.slice(this.cut)) parked.isDone = false
    this.group = this.begin()
  }

  /** Leaves one consumer that handles everything from now on. Returns the events that were never finished. */
  handleRest(): number[] {
    for (const id of this.consumers.keys()) this.disconnect(id)
    this.connect('last', 3)
    this.passNews()
    for (let turn = 0; turn < 5000; turn += 1) {
      if (this.reads.length > 0) this.read()
      else if (this.out.size > 0) this.answer(0, 'ack')
      else if (this.state.counts.read + this.state.counts.retry > 0 || this.state.status !== 'Live') this.tick(1000)
      else break
    }
    const parked = new Set(this.parked.map(({ n }) => n))
    return this.facts
      .filter(({ n, isForeign }) => !isForeign && !this.done.has(n) && !this.doneBefore.has(n) && !parked.has(n))
      .map(({ n }) => n)
  }

  private begin(): Group<Fact> {
    this.passed = this.facts.length
    const group = new Group<Fact>(this.settings, this.checkpoint, ({ key }) => key)
    this.group = group
    this.perform(group.start())
    return group
  }

  private finish(message: Message<Fact>): void {
    const parked = message.parkedRevision === undefined ? undefined : this.parked[message.parkedRevision]
    if (parked === undefined) this.done.add(message.event.n)
    else parked.isDone = true
  }

  private perform(commands: GroupCommand<Fact>[]): void {
    for (const command of commands) {
      switch (command.kind) {
        case 'read':
        case 'read-parked':
          this.reads.push(command)
          break
        case 'deliver':
          this.deliver(command.consumer, command.message)
          break
        case 'park':
          this.out.delete(command.message.id)
          this.finish(command.message)
          this.parked.push({ n: command.message.event.n, isDone: false })
          break
        case 'checkpoint':
          this.reach(command.position)
          break
        case 'truncate-parked':
          this.truncate(command.before)
          break
        case 'drop':
          throw new Error('this world has no dropped consumer')
      }
    }
  }

  private deliver(consumer: string, message: Message<Fact>): void {
    const { event, id, parkedRevision } = message
    const size = this.consumers.get(consumer)
    if (size === undefined) throw new Error(`delivered to ${consumer}, which does not exist`)
    if (this.out.has(id)) throw new Error(`${id} is delivered to two consumers`)
    if ([...this.out.values()].filter((out) => out.consumer === consumer).length >= size)
      throw new Error(`${consumer} has no room`)
    if (parkedRevision === undefined && this.done.has(event.n)) throw new Error(`${event.n} is finished and returns`)
    if (parkedRevision !== undefined && this.parked[parkedRevision]?.isDone !== false)
      throw new Error(`parked ${parkedRevision} is finished and returns`)
    if (event.isForeign) throw new Error(`${event.n} is excluded by the filter`)
    this.out.set(id, { message, consumer, expiresAt: this.now + this.settings.messageTimeout })
  }

  private reach(position: number): void {
    if (position <= (this.checkpoint ?? -1))
      throw new Error(`the checkpoint goes back from ${this.checkpoint} to ${position}`)
    for (const { n, isForeign } of this.facts.slice((this.checkpoint ?? -1) + 1, position + 1)) {
      if (!isForeign && !this.done.has(n)) throw new Error(`the checkpoint at ${position} passes ${n}`)
    }
    this.checkpoint = position
  }

  private truncate(before: number): void {
    if (before <= this.cut) throw new Error(`the cut goes back from ${this.cut} to ${before}`)
    if (this.parked.slice(0, before).some(({ isDone }) => !isDone))
      throw new Error(`the cut at ${before} passes a parked message`)
    this.cut = before
  }

  private sourceEvent(fact: Fact): { id: string; position: number; event: Fact } {
    return { id: `id-${fact.n}`, position: fact.n, event: fact }
  }

  private page(from: number, count: number): SourcePage<Fact> {
    const looked = this.facts.slice(from, from + Math.min(count, WINDOW))
    const events = looked.filter(({ isForeign }) => !isForeign).map((fact) => this.sourceEvent(fact))
    const next = from + looked.length
    const isEnd = next >= this.facts.length
    return events.length === 0 && looked.length > 0
      ? { events, next, isEnd, filteredOut: { position: next - 1, count: looked.length } }
      : { events, next, isEnd }
  }

  private parkedPage(from: number, count: number): SourcePage<Fact> {
    const start = Math.max(from, this.cut)
    const page = this.parked.slice(start, start + count)
    const events = page.map(({ n }, index) => ({
      id: `link-${start + index}`,
      position: start + index,
      event: this.facts[n] ?? { n, key: '', isForeign: false },
    }))
    return { events, next: start + page.length, isEnd: start + page.length >= this.parked.length }
  }
}
