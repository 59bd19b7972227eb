import type { components, paths } from './api.ts'

/** The named schemas of the API. */
export type Schemas = components['schemas']
export type Path = keyof paths
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The paths that have a method. */
export type PathOf<M extends Method> = {
  [P in Path]: paths[P] extends Readonly<Record<Lowercase<M>, object>> ? P : never
}[Path]
export type OperationOf<M extends Method, P extends Path> =
  paths[P] extends Readonly<Record<Lowercase<M>, infer O>> ? O : never

/** Paths of lists, which have pages. */
export type ListPath = {
  [P in PathOf<'GET'>]: 'cursor' extends keyof In<OperationOf<'GET', P>, 'query'> ? P : never
}[PathOf<'GET'>]

type In<O, Place extends string> = O extends { parameters: { [One in Place]?: infer Members } }
  ? [NonNullable<Members>] extends [never]
    ? unknown
    : NonNullable<Members>
  : unknown
type Params<O> = In<O, 'path'> & In<O, 'query'>
type Optional<Name extends string, Value> = {} extends Value ? { [N in Name]?: Value } : { [N in Name]: Value }
type Json<Content> = Content extends { 'application/json': infer Body } ? Body : URLSearchParams
type Body<O> = O extends { requestBody: { content: infer Content } }
  ? { body: Json<Content> }
  : O extends { requestBody?: { content: infer Content } }
    ? { body?: Json<Content> }
    : { body?: undefined }

/** The data of the successes of an operation. */
export type DataOf<O> = O extends { responses: infer Replies }
  ? {
      [S in keyof Replies]: Replies[S] extends { content: { 'application/json': infer Data } } ? Data : undefined
    }[keyof Replies]
  : never
export type ItemOf<P extends ListPath> = DataOf<OperationOf<'GET', P>> extends { data: (infer Item)[] } ? Item : never
export type EventDomain = paths['/v1/events/{channel}']['get']['parameters']['path']['channel']

export interface ClientOptions {
  /** Address of the platform, without a path. */
  readonly baseUrl: string
  readonly clientId?: string | undefined
  /** Never in a browser. */
  readonly clientSecret?: string | undefined
  /**
   * In place of id and secret: a token, or a function that gets one, like a page from its server. A 401 calls it again. Its
   * rejection is that of the request. A stream that was open before calls it again until it gives a token.
   */
  readonly token?: string | (() => string | Promise<string>) | undefined
  /** Tries after the first one: at most 4, which is also what it is without this. */
  readonly retries?: number | undefined
}

/** A success. */
export interface Answer<Data = unknown> {
  readonly status: number
  readonly headers: Headers
  /** Undefined without a body, as of a 204 and a 304. */
  readonly data: Data
}

export interface CommonOptions {
  /** Further headers, like `if-match` and `x-actor-context`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** `params` are the members of the path and of the query. */
export type ListOptions<O> = Optional<'params', Omit<Params<O>, 'cursor'>> & CommonOptions

export type RequestOptions<O> = Optional<'params', Params<O>> &
  Body<O> &
  CommonOptions & {
    /** Of a POST. Without it each call has one of its own. */
    readonly idempotencyKey?: string | undefined
    /** Seconds that the platform may wait for the end, 25 at most. */
    readonly wait?: number | undefined
  }

/** What a request takes, whatever the operation. */
export interface AnyOptions extends CommonOptions {
  readonly params?: unknown
  readonly body?: unknown
  readonly idempotencyKey?: string | undefined
  readonly wait?: number | undefined
}

/** A page of a list. */
export interface Page {
  readonly data: readonly unknown[]
  readonly next_cursor?: string | null
  readonly nextCursor?: string | null
}

/** Options may be left out where all of them may. */
export type Given<Options> = {} extends Options ? [options?: Options] : [options: Options]

export interface UploadOptions {
  /** The media type that the image was declared with. */
  readonly type: string
  readonly signal?: AbortSignal | undefined
}

export interface EventOptions {
  /** A cursor, or `now`. Without it from the oldest event. */
  readonly after?: string | undefined
  readonly types?: readonly string[] | undefined
  /** For a platform client: only the events of this organisation. */
  readonly orgId?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface FeedItem {
  /** Store it once the event took effect: `after` continues behind it. */
  readonly cursor: string
  readonly event: Schemas['PublicEvent']
}

export interface Client {
  /** @throws Problem for every answer that is no success */
  request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...options: Given<RequestOptions<OperationOf<M, P>>>
  ): Promise<Answer<DataOf<OperationOf<M, P>>>>
  /** All items of a list, page by page. */
  list<P extends ListPath>(
    path: P,
    ...options: Given<ListOptions<OperationOf<'GET', P>>>
  ): AsyncGenerator<ItemOf<P>, void, undefined>
  /** Puts the bytes of an image to its `upload_url`. */
  upload(url: string, bytes: Uint8Array<ArrayBuffer> | ArrayBuffer | Blob, options: UploadOptions): Promise<void>
  /** The public events of a domain, endlessly. After a lost connection it continues behind the last one. */
  events(domain: EventDomain, options?: EventOptions): AsyncGenerator<FeedItem, void, undefined>
}

/** The headers of a delivery as a server has them, in any case. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>
