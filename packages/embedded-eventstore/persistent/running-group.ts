import { randomUUID } from 'node:crypto'
import type { ResolvedEvent } from '../streams/links.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import { Connection, type ConsumerCall } from './connection.ts'
import { GroupStreams } from './group-streams.ts'
import { Group } from './group.ts'
import { groupKey, streamOf, type GroupSettings } from './group-settings.ts'
import type { GroupCommand, NackAction } from './message.ts'
import { pinningKey } from './pinning-key.ts'
import { readStreamPage, sourceReader, type SourceReader } from './source-reader.ts'

/** Runs a group: reads for its state machine, executes the commands of that, and holds the calls of its consumers. */
export class RunningGroup {
  readonly settings: GroupSettings
  readonly key: string
  readonly group: Group<ResolvedEvent>
  readonly connections = new Map<string, Connection>()
  readonly streams: GroupStreams
  private readonly store: StreamStore
  private readonly source: SourceReader
  private readonly stopListening: () => void
  private isScheduled = false
  private isStopped = false

  /** Starts to read immediately. Throws CorruptLogError. */
  constructor(store: StreamStore, settings: GroupSettings) {
    this.store = store
    this.settings = settings
    this.key = groupKey(streamOf(settings.source), settings.group)
    this.streams = new GroupStreams(store, settings.source, settings.group, (error) => this.fail(error))
    this.source = sourceReader(store, settings)
    this.group = new Group(settings, this.streams.readCheckpoint(), pinningKey(settings.strategy))
    this.stopListening = this.source.onNews(() => this.schedule())
    this.execute(this.group.start())
  }

  /** Number of messages that a replay would return. */
  get parkedCount(): number {
    const bounds = this.streams.parkedBounds()
    return bounds === undefined
      ? 0
      : Math.max(0, bounds.last - Math.max(bounds.first, this.group.state.replayedUntil) + 1)
  }

  /** Adds a consumer and returns its id. */
  connect(call: ConsumerCall, bufferSize: number, peer: { username: string; name: string }): string {
    const id = randomUUID()
    this.connections.set(id, new Connection(call, peer, this.settings.extraStatistics))
    this.execute(this.group.addConsumer(id, bufferSize, performance.now()))
    return id
  }

  disconnect(id: string): void {
    this.connections.delete(id)
    this.execute(this.group.removeConsumer(id, performance.now()))
  }

  ack(ids: string[]): void {
    this.measure(ids)
    this.execute(this.group.ack(ids, performance.now()))
  }

  nack(ids: string[], action: NackAction, reason: string): void {
    this.measure(ids)
    this.execute(this.group.nack(ids, action, reason, performance.now()))
  }

  tick(now: number): void {
    this.execute(this.group.tick(now))
  }

  /** Replays parked messages: all, or those before a revision of the parked stream. */
  replayParked(stopAt: number | undefined): void {
    const bounds = this.streams.parkedBounds()
    if (bounds !== undefined)
      this.execute(this.group.replayParked(bounds.first, Math.min(stopAt ?? Infinity, bounds.last + 1)))
  }

  /** Ends all calls and all other work of the group. */
  stop(): void {
    if (this.isStopped) return
    this.execute(this.group.dropAll())
    this.isStopped = true
    this.streams.close()
    this.stopListening()
  }

  private measure(ids: string[]): void {
    if (!this.settings.extraStatistics) return
    for (const connection of this.connections.values())
      for (const id of ids) connection.measurements?.end(id, performance.now())
  }

  private execute(commands: GroupCommand<ResolvedEvent>[]): void {
    this.guard(() => {
      for (const command of commands) this.perform(command)
    })
  }

  private perform(command: GroupCommand<ResolvedEvent>): void {
    switch (command.kind) {
      case 'deliver':
        this.connections.get(command.consumer)?.deliver(command.message, performance.now())
        break
      case 'drop': {
        const connection = this.connections.get(command.consumer)
        this.connections.delete(command.consumer)
        connection?.call.drop()
        break
      }
      case 'read':
        setImmediate(() => this.guard(() => this.read(command.from, command.count)))
        break
      case 'read-parked':
        setImmediate(() => this.guard(() => this.readParked(command.from, command.count)))
        break
      case 'checkpoint':
        this.streams.writeCheckpoint(command.position)
        break
      case 'park':
        this.streams.park(command.message.event, command.reason)
        break
      case 'truncate-parked':
        this.streams.truncateParked(command.before)
        break
      default:
        command satisfies never
    }
  }

  private read(from: number, count: number): void {
    const page = this.source.page(from, count)
    this.execute(page === 'deleted' ? this.group.sourceFailed() : this.group.pageRead(page, performance.now()))
  }

  private readParked(from: number, count: number): void {
    const page = readStreamPage(this.store, this.streams.parked, from, count, true)
    this.execute(
      this.group.parkedRead(page === 'deleted' ? { events: [], next: from, isEnd: true } : page, performance.now()),
    )
  }

  /** New events are handled outside of the writer's turn, because the group may itself append. */
  private schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(() => {
      this.isScheduled = false
      this.guard(() => this.takeNews())
    })
  }

  private takeNews(): void {
    for (const news of this.source.news()) {
      this.execute(
        'filteredOut' in news
          ? this.group.appendedElsewhere(news.filteredOut, performance.now())
          : this.group.appended(news, performance.now()),
      )
    }
  }

  /**
   * A source that cannot be read, or damage that a write of the group meets, stops this group until it is started again.
   * The rest of the node continues. No checkpoint follows, because it could pass a message that was not parked.
   */
  private guard(work: () => void): void {
    if (this.isStopped) return
    try {
      work()
    } catch (error) {
      this.fail(error)
    }
  }

  private fail(error: unknown): void {
    process.stderr.write(
      `${JSON.stringify({ level: 'error', event: 'group-stopped', group: this.key, message: String(error) })}\n`,
    )
    this.streams.close()
    this.execute(this.group.sourceFailed())
  }
}
