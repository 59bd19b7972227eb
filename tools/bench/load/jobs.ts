/** Requests to an API with a number in flight, each on its own connection. */
export interface HttpJob {
  readonly kind: 'http'
  readonly baseUrl: string
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** Used in turn. */
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** JSON texts, used in turn. Empty for requests without a body. */
  readonly bodies: readonly string[]
  /** Each request has its own Idempotency-Key. */
  readonly isKeyed: boolean
  /** The expected status of each answer. */
  readonly status: number
  /** Whether each answer must contain a new `id`. */
  readonly makesRecords: boolean
  readonly count: number
  readonly inFlight: number
}

/** GET requests that are answered with 200. */
export function gets(job: Pick<HttpJob, 'baseUrl' | 'paths' | 'headers' | 'count' | 'inFlight'>): HttpJob {
  return { kind: 'http', method: 'GET', bodies: [], isKeyed: false, status: 200, makesRecords: false, ...job }
}

/** Appends to new streams with the bare client. */
export interface AppendJob {
  readonly kind: 'append'
  readonly url: string
  /** The stored events of each append, as JSON texts. */
  readonly events: readonly { readonly type: string; readonly data: string; readonly metadata: string }[]
  readonly count: number
  readonly inFlight: number
}

/** Rows by primary key with the bare Postgres client. */
export interface SelectJob {
  readonly kind: 'select'
  readonly databaseUrl: string
  /** One parameter, the id. One row as the result. */
  readonly sql: string
  readonly ids: readonly string[]
  readonly count: number
  readonly inFlight: number
}

/** Commands on new streams with another library's command handler on Postgres. */
export interface PeerCommandsJob {
  readonly kind: 'peer-commands'
  readonly databaseUrl: string
  /** The events that each command decides. */
  readonly events: AppendJob['events']
  readonly count: number
  readonly inFlight: number
}

/** After each acknowledged request, the time until a GET returns its record. */
export interface VisibleJob {
  readonly kind: 'visible'
  readonly requests: HttpJob
  /** The path of a record, with `{id}` for its id. */
  readonly readPath: string
  readonly perSecond: number
}

/**
 * After each acknowledged append, the time until a subscription has delivered it and one transaction has written a row
 * for it.
 */
export interface BareVisibleJob {
  readonly kind: 'bare-visible'
  readonly append: AppendJob
  readonly databaseUrl: string
  readonly perSecond: number
  /** Start of the time. Default: the acknowledgement. */
  readonly from?: 'begun' | 'acknowledged'
}

/** Requests of assessments with images in their bodies, all in flight at once. */
export interface InlineJob {
  readonly kind: 'inline'
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly patientId: string
  /** A JPEG image. Bytes after its end are not part of it. */
  readonly imagePath: string
  /** Each makes one image: the file, followed by these bytes. */
  readonly paddings: readonly Uint8Array[]
  readonly count: number
}

/** Prepared webhooks, posted with the bare client. Nothing is signed or stored. */
export interface PostsJob {
  readonly kind: 'posts'
  readonly baseUrl: string
  /** Used in turn. */
  readonly paths: readonly string[]
  /** A webhook as it was received. Each posted copy has its own id. */
  readonly sample: Webhook
  readonly count: number
  readonly inFlight: number
}

/** The same mail to the same address, each with its own Message-ID, by bare `nodemailer` with a pool of connections. */
export interface MailsJob {
  readonly kind: 'mails'
  /** With user and password. */
  readonly smtpUrl: string
  readonly mail: { readonly to: string; readonly subject: string; readonly html: string; readonly text: string }
  readonly count: number
  readonly inFlight: number
}

/** Webhooks that another library's jobs on Postgres deliver. All jobs exist before the first one starts. */
export interface PeerDeliveriesJob extends Omit<PostsJob, 'kind'> {
  readonly kind: 'peer-deliveries'
  readonly databaseUrl: string
  /** Whether each job records the result of its attempt in a table of the same database. */
  readonly keepsLog: boolean
}

/**
 * The service of a peer that does the main job with another library: a photograph in the body, consent, the calls of the
 * provider, a webhook, and the end in the answer to the POST. It starts servers of its own below itself.
 */
export interface PeerServiceJob {
  readonly kind: 'peer-service'
  readonly folder: string
  /** Their consent is granted. */
  readonly patientIds: readonly string[]
  readonly webhookUrl: string
}

export interface PeerServiceDone {
  readonly baseUrl: string
  /** Of the only client. */
  readonly token: string
}

/** The same posts, each between two appends to its own stream. */
export interface DurablePostsJob extends Omit<PostsJob, 'kind'> {
  readonly kind: 'durable-posts'
  /** The events that are appended before and after each post to the event store at this URL. */
  readonly appends: { readonly url: string; readonly begin: AppendJob['events']; readonly end: AppendJob['events'] }
}

/** Requests at a steady rate. Measures the time until the answer, or until the webhook about the record arrives. */
export interface EndToEndJob {
  readonly kind: 'end-to-end'
  readonly requests: HttpJob
  readonly perSecond: number
  readonly until: 'answered' | { readonly webhookAtPort: number }
}

/**
 * Assessments of one photograph with a number in flight, whose callers wait for the end in the answer. Ends when each has
 * sent its webhook, once.
 */
export interface MainJob {
  readonly kind: 'main-job'
  readonly requests: HttpJob
  readonly webhookAtPort: number
}

export interface ProviderAccess {
  readonly url: string
  readonly login: string
  readonly password: string
}

/** The outside calls of one assessment, one after the other and at a steady rate: to the provider, and a webhook. */
export interface OutsideCallsJob {
  readonly kind: 'outside-calls'
  readonly provider: ProviderAccess
  readonly imagePath: string
  readonly webhook: Webhook & { readonly baseUrl: string; readonly path: string }
  readonly perSecond: number
  readonly count: number
}

/**
 * Changes of users at a steady rate, each of another user. Measures the time from the answer to a change until the mail
 * box has the mail to that user.
 */
export interface MailedJob {
  readonly kind: 'mailed'
  /** A path for each user. */
  readonly changes: HttpJob
  /** The address of each user. */
  readonly addresses: readonly string[]
  readonly mailboxUrl: string
  readonly perSecond: number
}

/** What a notification asks and sends outside, one call after the other and at a steady rate. */
export interface MailCallsJob {
  readonly kind: 'mail-calls'
  /** Asked twice: for the locale, and for the address. */
  readonly contact: { readonly baseUrl: string; readonly path: string; readonly headers: Webhook['headers'] }
  readonly smtpUrl: string
  readonly mail: MailsJob['mail']
  readonly perSecond: number
  readonly count: number
}

/** A channel by pages of the feed, from the oldest event to the end. */
export interface FeedPagesJob {
  readonly kind: 'feed-pages'
  readonly baseUrl: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The number of events. */
  readonly count: number
}

/** A stream with the bare client, from its first event to the last. */
export interface ReadStreamJob {
  readonly kind: 'read-stream'
  readonly url: string
  readonly stream: string
  readonly count: number
}

/**
 * Requests at a steady rate, each about the patient in its path. Measures the time from the answer until a stream of
 * server-sent events has the event about that patient.
 */
export interface FeedLinesJob {
  readonly kind: 'feed-lines'
  readonly requests: HttpJob
  readonly channel: 'consent'
  readonly perSecond: number
}

/** Streams of server-sent events in which nothing happens. They end with the next job of this kind. */
export interface IdleStreamsJob {
  readonly kind: 'idle-streams'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly count: number
}

export interface Webhook {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Commands for a receiver of webhooks: reset, or wait for this number of different webhooks. */
export type ReceiverJob = { readonly kind: 'begin' } | { readonly kind: 'arrived'; readonly count: number }

export interface ReceiverDone {
  readonly url: string
  /** Rate of the middle 80 % of the webhooks. */
  readonly perSecond: number
  /** Number of webhooks with the id of an earlier one. */
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
  | MailsJob
  | PeerDeliveriesJob
  | DurablePostsJob
  | EndToEndJob
  | MainJob
  | OutsideCallsJob
  | MailedJob
  | MailCallsJob
  | FeedPagesJob
  | ReadStreamJob
  | FeedLinesJob
  | IdleStreamsJob

/** The result of a driver: the total, and the quantiles of one piece of work, in milliseconds. */
export interface JobDone {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** Ids of the created records, if the job returns them. */
  readonly ids?: readonly string[]
}

export type JobAnswer<Done> = { readonly done: Done } | { readonly failed: string }

/** Runs the jobs of the parent process, one after the other. Ends with the parent. */
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
