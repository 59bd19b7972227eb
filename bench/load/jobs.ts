/** Requests of an API, each on its own connection, so many in flight at a time. */
export interface HttpJob {
  readonly kind: 'http'
  readonly baseUrl: string
  readonly method: 'GET' | 'POST'
  /** Taken in turn. */
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** JSON texts, taken in turn; none without a body. */
  readonly bodies: readonly string[]
  /** With an Idempotency-Key of its own each. */
  readonly isKeyed: boolean
  /** What each has to be answered with. */
  readonly status: number
  /** Whether each answer has to tell an `id` that no other one tells. */
  readonly makesRecords: boolean
  readonly count: number
  readonly inFlight: number
}

/** Appends to new streams by the bare client. */
export interface AppendJob {
  readonly kind: 'append'
  readonly url: string
  /** What each append writes, as it is stored: JSON texts. */
  readonly events: readonly { readonly type: string; readonly data: string; readonly metadata: string }[]
  readonly count: number
  readonly inFlight: number
}

/** Rows by primary key, by the bare Postgres client. */
export interface SelectJob {
  readonly kind: 'select'
  readonly databaseUrl: string
  /** One parameter: an id; one row. */
  readonly sql: string
  readonly ids: readonly string[]
  readonly count: number
  readonly inFlight: number
}

/** Commands on new streams by another library's command handler, on Postgres. */
export interface PeerCommandsJob {
  readonly kind: 'peer-commands'
  readonly databaseUrl: string
  /** What each command decides. */
  readonly events: AppendJob['events']
  readonly count: number
  readonly inFlight: number
}

/** After each acknowledged request: how long until a GET shows its record. */
export interface VisibleJob {
  readonly kind: 'visible'
  readonly requests: HttpJob
  /** Where the record of an `id` is read, `{id}` in the path. */
  readonly readPath: string
  readonly perSecond: number
}

/** After each acknowledged append: how long until a subscription has brought it and one transaction has written a row of it. */
export interface BareVisibleJob {
  readonly kind: 'bare-visible'
  readonly append: AppendJob
  readonly databaseUrl: string
  readonly perSecond: number
  /** When the time begins. Default: when it is acknowledged. */
  readonly from?: 'begun' | 'acknowledged'
}

/** Requests of assessments with images in their bodies, all in flight at once. */
export interface InlineJob {
  readonly kind: 'inline'
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly patientId: string
  /** A JPEG image; what follows its end is no part of it. */
  readonly imagePath: string
  /** One image each, made of the file and these bytes behind it. */
  readonly paddings: readonly Uint8Array[]
  readonly count: number
}

/** Webhooks made beforehand, posted by the bare client; nothing is signed or kept. */
export interface PostsJob {
  readonly kind: 'posts'
  readonly baseUrl: string
  /** Taken in turn. */
  readonly paths: readonly string[]
  /** A webhook as it was received; each one that is posted has an id of its own. */
  readonly sample: Webhook
  readonly count: number
  readonly inFlight: number
}

/** Webhooks delivered by another library's jobs on Postgres, which are all there before the first one is taken. */
export interface PeerDeliveriesJob extends Omit<PostsJob, 'kind'> {
  readonly kind: 'peer-deliveries'
  readonly databaseUrl: string
  /** Whether each job writes down what came of its attempt, in a table of the same database. */
  readonly keepsLog: boolean
}

/** The same posts, each between two appends of a stream of its own. */
export interface DurablePostsJob extends Omit<PostsJob, 'kind'> {
  readonly kind: 'durable-posts'
  /** What the event store of this address is given before and after each post, as it is stored. */
  readonly appends: { readonly url: string; readonly begin: AppendJob['events']; readonly end: AppendJob['events'] }
}

/** Requests at a steady rate, and how long each takes to its answer, or until the webhook that tells of its record is here. */
export interface EndToEndJob {
  readonly kind: 'end-to-end'
  readonly requests: HttpJob
  readonly perSecond: number
  readonly until: 'answered' | { readonly webhookAtPort: number }
}

/** The calls that one assessment makes outside, one after the other and at a steady rate: of the provider, and a webhook. */
export interface OutsideCallsJob {
  readonly kind: 'outside-calls'
  readonly provider: { readonly url: string; readonly login: string; readonly password: string }
  readonly imagePath: string
  readonly webhook: Webhook & { readonly baseUrl: string; readonly path: string }
  readonly perSecond: number
  readonly count: number
}

export interface Webhook {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What a receiver of webhooks is asked: to forget what has come, or to wait until so many different ones are there. */
export type ReceiverJob = { readonly kind: 'begin' } | { readonly kind: 'arrived'; readonly count: number }

export interface ReceiverDone {
  readonly url: string
  /** Of the middle 80 % of what came. */
  readonly perSecond: number
  /** How many came under the id of another. */
  readonly repeated: number
  readonly sample: Webhook
}

export type Job =
  | HttpJob
  | InlineJob
  | AppendJob
  | SelectJob
  | VisibleJob
  | BareVisibleJob
  | PeerCommandsJob
  | PostsJob
  | PeerDeliveriesJob
  | DurablePostsJob
  | EndToEndJob
  | OutsideCallsJob

/** What a driver answers: the whole, and the quantiles of one piece of work, in milliseconds. */
export interface JobDone {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** Ids of the records that it made, where it tells them. */
  readonly ids?: readonly string[]
}

export type JobAnswer<Done> = { readonly done: Done } | { readonly failed: string }

/** The life of a process that does jobs for its parent: one after the other, and it ends with its parent. */
export function answerJobs(run: (job: never) => Promise<unknown>): void {
  process.on('message', (job) => {
    const answer = (given: JobAnswer<unknown>) => process.send?.(given)
    run(job as never).then(
      (done) => answer({ done }),
      (error: unknown) => answer({ failed: error instanceof Error ? error.message : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
