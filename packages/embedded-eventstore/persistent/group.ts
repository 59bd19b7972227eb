import { Checkpoints } from './checkpoints.ts'
import { Consumer, type ConsumerStrategy } from './consumer.ts'
import { consumerStrategy } from './pinned-consumers.ts'
import { batchSize, LIVE, startOf, type GroupSettings } from './group-settings.ts'
import type { GroupCommand, Message, NackAction, SourceEvent, SourcePage } from './message.ts'
import { statusOf, type GroupState } from './group-state.ts'
import { ParkedReplay } from './parked-replay.ts'
import { StreamBuffer } from './stream-buffer.ts'

type InFlight<Event> = { message: Message<Event>; consumer: Consumer<Event>; expiresAt: number }

/**
 * A group as a state machine: events go in, commands come out. It does not read, write or use a clock; times are
 * milliseconds of a monotonic clock. It holds every event that arrived until a consumer finishes it or it is parked.
 */
export class Group<Event> {
  readonly settings: GroupSettings
  readonly consumers = new Map<string, Consumer<Event>>()
  private readonly strategy: ConsumerStrategy<Event>
  private readonly inFlight = new Map<string, InFlight<Event>>()
  private readonly checkpoints: Checkpoints
  private readonly buffer: StreamBuffer<Event>
  private readonly replay = new ParkedReplay()
  /** The part of a replay that is read once there is room for it. */
  private replayRest: { from: number; left: number } | undefined
  private commands: GroupCommand<Event>[] = []
  private next: number
  private isReading = false
  private isFaulted = false
  private known = -1
  private delivered = 0

  /** `checkpoint` is the last finished position from an earlier life of the group. */
  constructor(settings: GroupSettings, checkpoint: number | undefined, keyOf: (event: Event) => string) {
    this.settings = settings
    this.strategy = consumerStrategy(settings.strategy, keyOf)
    this.checkpoints = new Checkpoints(settings, checkpoint)
    const start = startOf(settings)
    this.next = checkpoint === undefined ? Math.max(0, start) : checkpoint + 1
    const isLive = checkpoint === undefined && start === LIVE
    this.buffer = new StreamBuffer(settings, isLive, (event) => ({
      ...event,
      retries: 0,
      origin: this.checkpoints.arrive(event.position),
      parkedRevision: undefined,
    }))
  }

  /** Starts to read. */
  start(): GroupCommand<Event>[] {
    this.readMore()
    return this.take()
  }

  get state(): GroupState {
    const { isLive, counts } = this.buffer
    return {
      status: this.isFaulted ? 'NotReady' : statusOf(isLive, this.isReading, this.replay.isRunning),
      counts,
      outstanding: this.inFlight.size,
      delivered: this.delivered,
      checkpoint: this.checkpoints.last,
      known: this.known < 0 ? undefined : this.known,
      replayedUntil: this.replay.replayedUntil,
    }
  }

  get hasRoomForConsumer(): boolean {
    const { maxSubscriberCount } = this.settings
    return maxSubscriberCount === 0 || this.consumers.size < maxSubscriberCount
  }

  pageRead(page: SourcePage<Event>, now: number): GroupCommand<Event>[] {
    if (!this.isReading) return []
    this.isReading = false
    if (this.buffer.isLive) return []
    if (page.filteredOut !== undefined) this.passOver(page.filteredOut, now)
    for (const event of page.events) {
      this.known = Math.max(this.known, event.position)
      this.buffer.addRead(event)
    }
    this.next = page.next
    if (page.isEnd) this.buffer.moveToLive()
    this.readMore()
    this.push(now)
    return this.take()
  }

  /** The source cannot be read any more. The group serves no consumer after that. */
  sourceFailed(): GroupCommand<Event>[] {
    this.isFaulted = true
    return this.dropAll()
  }

  /** Takes an event that was just appended to the source. */
  appended(event: SourceEvent<Event>, now: number): GroupCommand<Event>[] {
    if (event.position < startOf(this.settings) || event.position <= this.checkpoints.arrived) return []
    this.known = Math.max(this.known, event.position)
    const wasLive = this.buffer.isLive
    this.buffer.addLive(event)
    if (wasLive && !this.buffer.isLive) this.next = event.position
    this.push(now)
    return this.take()
  }

  /** Counts an event that was just appended and that the filter excludes. */
  appendedElsewhere(position: number, now: number): GroupCommand<Event>[] {
    if (this.buffer.isLive && position > this.checkpoints.arrived && position >= startOf(this.settings))
      this.passOver({ position, count: 1 }, now)
    return this.take()
  }

  addConsumer(id: string, bufferSize: number, now: number): GroupCommand<Event>[] {
    if (this.isFaulted) return [{ kind: 'drop', consumer: id }]
    const consumer = new Consumer<Event>(id, bufferSize)
    this.consumers.set(id, consumer)
    this.strategy.added(consumer)
    this.push(now)
    return this.take()
  }

  /** Removes a consumer and gives its messages to the others. */
  removeConsumer(id: string, now: number): GroupCommand<Event>[] {
    const consumer = this.consumers.get(id)
    if (consumer === undefined) return []
    this.consumers.delete(id)
    this.strategy.removed(consumer)
    for (const message of consumer.inFlight) {
      this.inFlight.delete(message.id)
      this.buffer.addRetry({ ...message, retries: message.retries + 1 })
    }
    this.push(now)
    return this.take()
  }

  /** Ends all consumers' calls. */
  dropAll(): GroupCommand<Event>[] {
    for (const consumer of this.consumers.values()) {
      this.strategy.removed(consumer)
      this.commands.push({ kind: 'drop', consumer: consumer.id })
    }
    this.consumers.clear()
    return this.take()
  }

  /** Completes messages. Ignores ids that are not with a consumer, whoever sends them. */
  ack(ids: string[], now: number): GroupCommand<Event>[] {
    for (const id of ids) this.finish(id)
    return this.proceed(now)
  }

  nack(ids: string[], action: NackAction, reason: string, now: number): GroupCommand<Event>[] {
    for (const id of ids) {
      const message = this.inFlight.get(id)?.message
      if (message === undefined) continue
      if (action === 'retry' || action === 'unknown') this.retryOrPark(message)
      else {
        if (action === 'park')
          this.commands.push({ kind: 'park', message, reason: `Client explicitly NAK'ed message.\n${reason}` })
        this.finish(id)
      }
    }
    return this.proceed(now)
  }

  /** Advances the time: retries messages that timed out and writes due checkpoints. Called once a second. */
  tick(now: number): GroupCommand<Event>[] {
    const expired = [...this.inFlight.values()].filter(({ expiresAt }) => expiresAt <= now)
    for (const { message } of expired) this.retryOrPark(message)
    this.push(now)
    this.checkpoint(now, true)
    this.cutParked()
    this.readMore()
    return this.take()
  }

  /** Replays parked messages from the oldest to `stopAt`, exclusive. Both are revisions of the parked stream. */
  replayParked(first: number, stopAt: number): GroupCommand<Event>[] {
    const from = this.replay.begin(first, stopAt)
    if (from !== undefined) this.readParked(from, stopAt - from)
    return this.take()
  }

  /** Takes a page of the parked stream. Its positions are revisions. */
  parkedRead(page: SourcePage<Event>, now: number): GroupCommand<Event>[] {
    for (const { id, position, event } of page.events) {
      if (this.replay.takes(position))
        this.buffer.addRetry({ id, event, retries: 0, origin: undefined, parkedRevision: position })
    }
    this.replayRest = this.replay.advance(page.next, page.isEnd)
    this.push(now)
    if (this.replay.isFinished) this.cutParked()
    return this.take()
  }

  private proceed(now: number): GroupCommand<Event>[] {
    if (this.replay.isFinished) this.cutParked()
    this.checkpoint(now, false)
    this.readMore()
    this.push(now)
    return this.take()
  }

  private push(now: number): void {
    this.buffer.drain((message) => {
      // An acknowledgement cannot distinguish two events with one id. The second therefore waits for the first.
      if (this.inFlight.has(message.id)) return 'skipped'
      const consumer = this.strategy.assign(message)
      if (consumer === 'skipped' || consumer === 'full') return consumer
      this.delivered += 1
      this.inFlight.set(message.id, { message, consumer, expiresAt: now + this.settings.messageTimeout })
      this.commands.push({ kind: 'deliver', consumer: consumer.id, message })
      return 'sent'
    })
    this.readMoreParked()
  }

  /** Any number of messages may be parked, so they are not all read ahead of the consumers. */
  private readMoreParked(): void {
    const rest = this.replayRest
    if (rest === undefined || this.buffer.counts.retry >= Math.max(1, this.settings.historyBufferSize)) return
    this.replayRest = undefined
    this.readParked(rest.from, rest.left)
  }

  private retryOrPark(message: Message<Event>): void {
    const { maxRetryCount } = this.settings
    if (message.retries >= maxRetryCount) {
      this.commands.push({ kind: 'park', message, reason: `Reached retry count of ${maxRetryCount}` })
      this.finish(message.id)
      return
    }
    this.release(message.id)
    this.buffer.addRetry({ ...message, retries: message.retries + 1 })
  }

  private finish(id: string): void {
    const message = this.release(id)
    if (message?.parkedRevision !== undefined) this.replay.finish(message.parkedRevision)
  }

  private release(id: string): Message<Event> | undefined {
    const out = this.inFlight.get(id)
    if (out === undefined) return undefined
    this.inFlight.delete(id)
    out.consumer.release(out.message)
    this.strategy.released(out.consumer, out.message)
    return out.message
  }

  private readMore(): void {
    const count = batchSize(this.settings)
    if (this.isFaulted || this.isReading || this.buffer.isLive || !this.buffer.canAccept(this.settings.readBatchSize))
      return
    this.isReading = true
    this.commands.push({ kind: 'read', from: this.next, count })
  }

  private readParked(from: number, left: number): void {
    this.commands.push({ kind: 'read-parked', from, count: Math.min(left, batchSize(this.settings)) })
  }

  private cutParked(): void {
    const before = this.replay.takeCut()
    if (before !== undefined) this.commands.push({ kind: 'truncate-parked', before })
  }

  private passOver({ position, count }: { position: number; count: number }, now: number): void {
    this.checkpoints.passOver(position, count)
    this.checkpoint(now, false)
  }

  private checkpoint(now: number, isTick: boolean): void {
    const position = this.checkpoints.due(now, isTick, () => this.lowestUndone())
    if (position !== undefined) this.commands.push({ kind: 'checkpoint', position })
  }

  private lowestUndone(): Message<Event> | undefined {
    let lowest = this.buffer.lowest()
    for (const { message } of this.inFlight.values()) {
      if (message.origin !== undefined && message.origin.sequence < (lowest?.origin?.sequence ?? Infinity))
        lowest = message
    }
    return lowest
  }

  private take(): GroupCommand<Event>[] {
    const commands = this.commands
    this.commands = []
    return commands
  }
}
