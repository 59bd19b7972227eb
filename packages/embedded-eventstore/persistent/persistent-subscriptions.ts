import { readLogBackwards } from '../streams/read-all.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import { GroupConfiguration } from './configuration.ts'
import { GroupError, type GroupRefusal } from './group-errors.ts'
import { groupKey, parsePosition, startOf, streamOf, type GroupSettings } from './group-settings.ts'
import { RunningGroup } from './running-group.ts'

const TICK_MS = 1000

/** All groups of the node. Methods throw GroupError. `done` is called once a change is durable. */
export class PersistentSubscriptions {
  private readonly store: StreamStore
  private readonly configuration: GroupConfiguration
  private readonly timer: NodeJS.Timeout
  private groups = new Map<string, RunningGroup>()
  /** Streams that have or had groups since the start. A list request for them is no error. */
  private streams = new Set<string>()

  private isReady = false

  /**
   * Starts the configured groups. If the configuration is unreadable, every request is refused; the rest of the node
   * works.
   */
  constructor(store: StreamStore) {
    this.store = store
    this.configuration = new GroupConfiguration(store)
    try {
      this.startAll(this.configuration.load())
      this.isReady = true
    } catch (error) {
      report('groups-not-started', error)
    }
    this.timer = setInterval(() => this.tick(), TICK_MS)
    this.timer.unref()
  }

  create(settings: GroupSettings, username: string, done: () => void): void {
    const stream = streamOf(settings.source)
    this.ready(stream, settings.group)
    this.check(settings)
    if (this.groups.has(groupKey(stream, settings.group)))
      throw new GroupError({ kind: 'exists' }, stream, settings.group)
    this.checkSizes(settings)
    this.store.requireRoom()
    this.start(settings)
    this.configuration.put(settings, username, done)
  }

  /** Changes a group. It keeps its filter and restarts from its checkpoint. Its consumers are dropped. */
  update(settings: GroupSettings, username: string, done: () => void): void {
    const stream = streamOf(settings.source)
    const running = this.find(stream, settings.group)
    this.check(settings)
    this.checkSizes(settings)
    this.store.requireRoom()
    const updated = { ...settings, source: running.settings.source }
    running.stop()
    this.start(updated)
    this.configuration.put(updated, username, done)
  }

  delete(stream: string, group: string, username: string, done: () => void): void {
    const running = this.find(stream, group)
    this.store.requireRoom()
    running.stop()
    this.groups.delete(running.key)
    running.streams.delete()
    this.configuration.remove(stream, group, username, done)
  }

  /** The group that a consumer joins. */
  toJoin(stream: string, group: string): RunningGroup {
    const running = this.find(stream, group)
    if (!running.group.hasRoomForConsumer) throw new GroupError({ kind: 'full' }, stream, group)
    return running
  }

  find(stream: string, group: string): RunningGroup {
    this.ready(stream, group)
    const running = this.groups.get(groupKey(stream, group))
    if (running === undefined) throw new GroupError({ kind: 'missing' }, stream, group)
    return running
  }

  /** The groups that run. None if the configuration is unreadable. */
  get running(): RunningGroup[] {
    return [...this.groups.values()]
  }

  /** Groups of one stream, or all groups. */
  list(stream: string | undefined): RunningGroup[] {
    this.ready(stream ?? '', '')
    if (stream === undefined) return [...this.streams].flatMap((name) => this.list(name))
    if (!this.streams.has(stream)) throw new GroupError({ kind: 'missing' }, stream, '')
    return this.running.filter(({ settings }) => streamOf(settings.source) === stream)
  }

  replayParked(stream: string, group: string, stopAt: number | undefined): void {
    if (stopAt !== undefined && stopAt < 0) {
      throw new GroupError(
        { kind: 'failed', reason: 'Cannot stop replaying parked message at a negative version.' },
        stream,
        group,
      )
    }
    this.find(stream, group).replayParked(stopAt)
  }

  /** Ends all consumers' calls and restarts every group from its checkpoint. */
  restart(): void {
    this.ready('', '')
    const settings = this.running.map((group) => group.settings)
    this.stopAll()
    this.startAll(settings)
  }

  /** Stops all reads and writes. */
  stop(): void {
    clearInterval(this.timer)
    this.stopAll()
  }

  private ready(stream: string, group: string): void {
    if (!this.isReady) throw new GroupError({ kind: 'not-ready' }, stream, group)
  }

  private tick(): void {
    const now = performance.now()
    for (const group of this.groups.values()) group.tick(now)
  }

  private start(settings: GroupSettings): void {
    const group = new RunningGroup(this.store, settings)
    this.groups.set(group.key, group)
    this.streams.add(streamOf(settings.source))
  }

  private startAll(all: GroupSettings[]): void {
    this.groups = new Map()
    this.streams = new Set()
    for (const settings of all) {
      try {
        this.start(settings)
      } catch (error) {
        report('group-not-started', error, groupKey(streamOf(settings.source), settings.group))
      }
    }
  }

  private stopAll(): void {
    for (const group of this.groups.values()) group.stop()
  }

  private check(settings: GroupSettings): void {
    const { source, group, startPosition } = settings
    const position = parsePosition(source, startPosition)
    const fail = (reason: string): GroupRefusal => ({
      kind: 'failed',
      reason: `Invalid Start From position: ${reason}`,
    })
    if (source.kind === 'stream') {
      if (position === undefined || position < -1)
        throw new GroupError(fail('event number must be greater than or equal to -1.'), source.stream, group)
    } else if (startOf(settings) > this.lastPosition()) {
      throw new GroupError(
        fail('commit position must be less than or equal to the last commit position in the transaction file.'),
        streamOf(source),
        group,
      )
    }
  }

  private checkSizes({ source, group, readBatchSize, historyBufferSize }: GroupSettings): void {
    if (readBatchSize < historyBufferSize) return
    const reason =
      "Specified argument was out of the range of valid values. (Parameter 'ReadBatchSize may not be greater than or equal to BufferSize')"
    throw new GroupError({ kind: 'failed', reason }, streamOf(source), group)
  }

  /** Position of the last event. 0 in an empty log, so that a group may start at the beginning. */
  private lastPosition(): number {
    const [newest] = readLogBackwards(this.store, this.store.log.durableEnd)
    return newest?.[0]?.event.position ?? 0
  }
}

function report(event: string, error: unknown, group?: string): void {
  process.stderr.write(`${JSON.stringify({ level: 'error', event, group, message: String(error) })}\n`)
}
