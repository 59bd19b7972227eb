/*
 * Declares the used parts of packages that only `tools/bench/package.json` installs. The repository can so be type-checked
 * without them. `tsc -p tools/bench` excludes this file and checks against the packages themselves.
 */

declare module '@dbos-inc/dbos-sdk' {
  interface Handle<Result> {
    getResult(): Promise<Result>
  }
  export const DBOS: {
    setConfig(config: {
      name: string
      systemDatabaseUrl: string
      systemDatabasePoolSize: number
      logLevel: string
    }): void
    launch(): Promise<void>
    registerWorkflow<Input extends unknown[], Result>(
      work: (...input: Input) => Promise<Result>,
      config: { name: string },
    ): (...input: Input) => Promise<Result>
    startWorkflow<Input extends unknown[], Result>(
      workflow: (...input: Input) => Promise<Result>,
      params: { workflowID: string },
    ): (...input: Input) => Promise<Handle<Result>>
    runStep<Result>(work: () => Promise<Result>, config: { name: string }): Promise<Result>
  }
}

declare module '@event-driven-io/emmett' {
  export interface Event<Type extends string = string, Data extends Record<string, unknown> = Record<string, unknown>> {
    type: Type
    data: Data
    metadata?: Record<string, unknown>
  }
  interface Handled {
    readonly nextExpectedStreamVersion: bigint
  }
  export function CommandHandler<State, StreamEvent extends Event>(options: {
    evolve: (state: State, event: StreamEvent) => State
    initialState: () => State
  }): (store: object, stream: string, handle: (state: State) => StreamEvent | StreamEvent[]) => Promise<Handled>
}

declare module '@event-driven-io/emmett-postgresql' {
  import type { Event } from '@event-driven-io/emmett'

  interface Store {
    appendToStream(stream: string, events: readonly Event[]): Promise<unknown>
    close(): Promise<void>
    readonly schema: { migrate(): Promise<unknown> }
  }
  interface Consumer {
    start(): Promise<void>
    close(): Promise<void>
  }
  export function getPostgreSQLEventStore(connectionString: string): Store
  export function pongoMultiStreamProjection<Document extends object, EventType extends Event>(options: {
    collectionName: string
    canHandle: readonly string[]
    getDocumentId: (event: EventType) => string
    initialState: () => Document
    evolve: (document: Document, event: EventType) => Document
  }): object
  export function rebuildPostgreSQLProjections(options: {
    connectionString: string
    projections: readonly object[]
  }): Consumer
}

declare module 'graphile-worker' {
  interface Jobs {
    migrate(): Promise<void>
    addJobs(jobs: readonly { readonly identifier: string; readonly payload: unknown }[]): Promise<unknown>
    release(): Promise<void> | void
  }
  interface Runner {
    stop(): Promise<void>
    readonly events: {
      on(event: 'job:success', listener: () => void): unknown
      on(event: 'job:error', listener: (failure: { readonly error: unknown }) => void): unknown
    }
  }
  interface Helpers {
    query(text: string, values: unknown[]): Promise<unknown>
  }
  export class Logger {
    constructor(logFunctionFactory: () => () => void)
    error(message: string): void
  }
  export function makeWorkerUtils(options: { connectionString: string; logger: Logger }): Promise<Jobs>
  export function run(options: {
    connectionString: string
    logger: Logger
    concurrency: number
    noHandleSignals: boolean
    taskList: Readonly<Record<string, (payload: unknown, helpers: Helpers) => Promise<void>>>
    preset: {
      worker: {
        localQueue: { size: number }
        completeJobBatchDelay: number
        failJobBatchDelay: number
        maxPoolSize: number
      }
    }
  }): Promise<Runner>
}
