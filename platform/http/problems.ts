/** One refusal of the HTTP interface. The key of the catalogue is its `code` and the last segment of its `type`. */
export interface ProblemDefinition {
  readonly status: number
  readonly title: string
  /** True if the same request may succeed later without a change. */
  readonly retriable: boolean
  /** Returned by `/problems/{code}`: when it happens and what to do. */
  readonly doc: string
}

function refusal(status: number, title: string, doc: string): ProblemDefinition {
  return { status, title, retriable: false, doc }
}

function passing(status: number, title: string, doc: string): ProblemDefinition {
  return { status, title, retriable: true, doc }
}

/** All problems in answers of the platform. A code never changes its name or meaning. */
export const problems = {
  'validation-failed': refusal(
    400,
    'The request is not valid',
    'A member of the request is missing, unknown or out of range. `errors` contains a pointer to each one. Fix the request.',
  ),
  'malformed-body': refusal(
    400,
    'The body cannot be read',
    'The body is not well-formed JSON (or form data), is nested too deeply, has too many members, repeats a member, or contains a text or a number that cannot be stored unchanged. Send whole numbers beyond 2^53, and decimals with more digits than a double has, as text. Send 0 instead of -0. Fix the request.',
  ),
  'malformed-request': refusal(
    400,
    'The request cannot be read',
    'The request breaks the rules of HTTP, or one of its headers is malformed. Fix the request.',
  ),
  'token-request-invalid': refusal(
    400,
    'The token request is not valid',
    'The member `error` contains the reason, by RFC 6749.',
  ),
  'org-required': refusal(
    400,
    'An organisation must be named',
    'The route needs an organisation in the request, because it always does or because the token has none. Send the query parameter `org_id` (`orgId`) or the body member `organisationId`.',
  ),
  'path-not-supported': refusal(
    400,
    'The path has no answers of the past',
    '`GET /v1/audit/as-of/paths` lists the paths. Those that are signed or read from the object store, and lists of an organisation, are not among them.',
  ),
  'moment-in-future': refusal(
    400,
    'The moment is in the future',
    'Answers of the past exist up to the newest event. Send an instant that has passed, or a position of the log.',
  ),
  'one-subject-required': refusal(
    400,
    'One subject must be named',
    'A timeline belongs to one subject. Send exactly one of its parameters, such as `patient_id`.',
  ),
  'product-required': refusal(
    400,
    'The token has no product',
    'Assessments and AI reviews belong to a product. Use the token of a client with a product, or name one where the body has the member.',
  ),
  'unknown-scope': refusal(
    400,
    'A scope is not registered',
    'A client holds registered scopes only. `GET /v1/auth/scopes` lists them.',
  ),
  'template-variable-missing': refusal(
    400,
    'A variable of the template is missing',
    'The template cannot be rendered without the variables in `missingVariables`. `errors` points at each one.',
  ),
  'idempotency-key-invalid': refusal(
    400,
    'The Idempotency-Key is not valid',
    'The key must have 1 to 255 visible ASCII characters. Quotes around it are optional.',
  ),
  'invalid-cursor': refusal(
    400,
    'The cursor is not valid',
    'The cursor was altered, or belongs to another list, another organisation or other filters. Start again without a cursor.',
  ),
  'expired-cursor': refusal(
    400,
    'The cursor has expired',
    'A cursor is valid for 7 days. Start again without a cursor.',
  ),
  'mixed-image-mode': refusal(
    400,
    'Some images carry data and some do not',
    'Send the bytes of all images, or of none.',
  ),
  'image-invalid': refusal(
    400,
    'An image is not acceptable',
    'The bytes do not have the declared type, or the image is too large. `errors` points at the image.',
  ),
  'image-too-large': refusal(
    400,
    'An image is too large',
    'An image may have at most 20 MiB and 64 megapixels. All images in one request body may have at most 45 MiB.',
  ),
  'webhook-url-forbidden': refusal(
    400,
    'The webhook address is not allowed',
    'The address must use https (development also allows http) and have at most 2048 characters. It must not contain user information or a fragment. It must lead to an address that the platform may call.',
  ),
  'template-render-failed': refusal(
    400,
    'The template cannot be rendered',
    'With these variables the output has more than 256 KiB, takes too many steps, or prints a list or an object. The detail contains the reason. Change the template or the variables.',
  ),
  'text-version-not-effective': refusal(
    400,
    'The text version is not in effect',
    'A granted decision needs a text version that was in effect at `recorded_at`. Use an earlier version, or a later `recorded_at`.',
  ),
  'consent-text-mismatch': refusal(
    400,
    'The text version belongs to another consent type',
    'Use a text version of the same consent type.',
  ),
  'role-organisation-mismatch': refusal(
    400,
    'The role is not one of the organisation',
    'The role does not exist in the organisation of the membership. Use one of its roles.',
  ),
  'no-default-role': refusal(
    400,
    'The organisation has no default role',
    'Name a role in `roleId`, or make one the default role of the organisation.',
  ),
  'unknown-permission': refusal(
    400,
    'A permission is not registered',
    'A role contains registered permissions only. `errors` points at each other one. Register it first.',
  ),
  'unknown-purpose': refusal(
    400,
    'The purpose of use is not known',
    'X-Purpose-Of-Use takes TREAT, HPAYMT, HOPERAT, HRESCH, PATRQT, ETREAT or PUBHLTH. Send one of them, or leave the header out.',
  ),
  'one-filter-required': refusal(
    400,
    'A filter is required',
    'Name a patient, an actor or a client whose accesses are listed.',
  ),
  'token-missing': refusal(401, 'An access token is required', 'Send `Authorization: Bearer <access token>`.'),
  'token-invalid': refusal(401, 'The access token is not valid', 'Request a new access token.'),
  'token-expired': refusal(401, 'The access token has expired', 'Request a new access token.'),
  'client-invalid': refusal(401, 'The client is not accepted', 'The client is unknown, or its credentials are wrong.'),
  'admin-secret-invalid': refusal(
    401,
    'The administrator secret is not accepted',
    'X-Admin-Api-Secret is switched off, or its value is wrong.',
  ),
  'session-missing': refusal(
    401,
    'There is no session',
    'The request has no session of the console, or it has ended. Sign in at /console/sign-in.',
  ),
  'csrf-refused': refusal(
    403,
    'The request does not come from a page of the console',
    'A write needs `X-CSRF-Token` with the `csrf_token` of `GET /console/session`, and the origin of the console.',
  ),
  'insufficient-scope': refusal(
    403,
    'The token lacks a scope',
    '`required_scopes` lists the scopes that the route needs. Request them at the token endpoint.',
  ),
  'permission-missing': refusal(
    403,
    'The actor lacks a permission',
    '`required_permission` contains the permission that the route needs.',
  ),
  'actor-context-missing': refusal(
    403,
    'An actor context is required',
    'Send the X-Actor-Context header of a user with the permission, or X-Admin-Api-Secret.',
  ),
  'actor-context-invalid': refusal(
    403,
    'The actor context is not valid',
    'X-Actor-Context must be a compact JWT of at most 8 KiB with the claims of an actor context. In the mode `signed`, it must also be signed with a known key, have the type actor-context+jwt, and be at most five minutes old. In the mode `resolve`, its user must be a member of its organisation.',
  ),
  'actor-context-not-accepted': refusal(
    403,
    'Actor contexts are not accepted from this client',
    'Only clients marked as a source of actor contexts may send X-Actor-Context.',
  ),
  'client-read-only': refusal(
    403,
    'Only platform callers change this client',
    'The client has a scope or a trust that the caller may not grant, like `auth:admin`. Use the token of a platform client with `auth:admin`.',
  ),
  'grant-not-permitted': refusal(
    403,
    'Only platform callers grant this',
    '`auth:admin`, `ai-review:read-raw`, `operations:read`, `operations:write`, `users:admin`, `users:contact`, `users:permissions`, `trusted_actor_context`, a client without organisation, and the registration of scopes need a platform client with `auth:admin`.',
  ),
  'platform-client-required': refusal(
    403,
    'Only platform clients may do this',
    'The client belongs to an organisation. Use a platform client.',
  ),
  'org-mismatch': refusal(
    403,
    'The actor context is of another organisation',
    "The org_id of the actor context differs from the token's organisation.",
  ),
  'user-not-active': refusal(403, 'The user is not active', 'A suspended or deactivated user has no permissions.'),
  'not-found': refusal(
    404,
    'Not found',
    'There is no such address, or no such resource for the caller. A resource of another organisation gets the same answer.',
  ),
  'patient-not-found': refusal(
    404,
    'The patient was not found',
    'The patient in the body does not exist in the organisation. `errors` points at the member.',
  ),
  'case-not-found': refusal(
    404,
    'The case was not found',
    'The case in the body does not exist in the organisation. `errors` points at the member.',
  ),
  'ai-review-result-missing': refusal(
    404,
    'The AI review has no response of the provider',
    'The provider has not processed the case, or not yet. Read the status of the review.',
  ),
  'workflow-definition-not-found': refusal(
    404,
    'The workflow definition was not found',
    'The workflow definition in the body does not exist in the organisation. `errors` points at the member.',
  ),
  'consent-type-not-found': refusal(
    404,
    'The consent type was not found',
    'The consent type in the request does not exist in the organisation. `errors` points at the member.',
  ),
  'template-not-found': refusal(
    404,
    'The template was not found',
    'Neither the organisation nor the platform has a template with this code for the channel of the recipient, in the locale of the recipient or in en-GB.',
  ),
  'method-not-allowed': refusal(
    405,
    'The method is not allowed',
    'The Allow header lists the methods of this address.',
  ),
  'request-timeout': passing(
    408,
    'The request took too long',
    'The head of a request must arrive within 20 seconds, and so must a body of up to 16 KiB. The whole request must arrive within 120 seconds. Send the request again.',
  ),
  conflict: passing(409, 'The resource was changed at the same time', 'Read the resource and try again.'),
  'event-not-sealed': refusal(
    409,
    'The event is not sealed yet',
    'The log is sealed once a minute (SEAL_INTERVAL_SECONDS). Try again later.',
  ),
  'review-not-ended': refusal(
    409,
    'The AI review has not ended',
    'Only an ended review has a document of its provenance. Read the review, and try again after its end.',
  ),
  'provenance-too-large': refusal(
    409,
    'The provenance of the AI review is too large',
    'Its events are more than 2,500 or have more than 16 MiB. Read them with the timeline, and prove each one by itself.',
  ),
  'history-too-large': refusal(
    409,
    'The history of the record is too large',
    'An answer of the past reads at most 20,000 events. Read the timeline, or the events themselves.',
  ),
  'idempotency-key-reused': refusal(
    409,
    'The Idempotency-Key was used with another request',
    'Use a new key, or repeat the same payload.',
  ),
  'assessment-not-awaiting-images': refusal(
    409,
    'The assessment takes no images',
    'An assessment takes images until they are submitted or the upload window closes. It takes none if they came with the request. Request another assessment.',
  ),
  'uploads-incomplete': passing(
    409,
    'Images are missing',
    'The images in `missing_image_ids` were not uploaded. Upload them, and submit again.',
  ),
  'image-not-awaiting-upload': refusal(
    409,
    'The image takes no upload',
    'An image takes an upload until it is submitted or the upload window closes. Declare another image.',
  ),
  'patient-identifier-conflict': refusal(
    409,
    'A patient identifier is taken',
    'An identifier belongs to another patient, or the identifiers belong to different patients. `errors` points at each one.',
  ),
  'consent-type-code-in-use': refusal(
    409,
    'The consent type code is in use',
    'Codes are unique in an organisation. The code of a deleted type stays reserved.',
  ),
  'consent-type-in-use': refusal(
    409,
    'The consent type is in use',
    'A decision on it was recorded, or is being recorded. A type in use cannot be deleted.',
  ),
  'text-version-exists': refusal(
    409,
    'The text version exists',
    'A text version of this locale has the same effectiveFrom.',
  ),
  'email-in-use': refusal(
    409,
    'The e-mail address is in use',
    'Another user has this address. Addresses are compared without case.',
  ),
  'role-name-in-use': refusal(409, 'The role name is in use', 'Another role of the organisation has this name.'),
  'suppression-exists': refusal(
    409,
    'The address is on the suppression list',
    'An entry for this address and channel exists. E-mail addresses are compared without case.',
  ),
  'role-in-use': refusal(
    409,
    'The role is in use',
    'Members of the organisation have this role. Give them another one first.',
  ),
  'membership-exists': refusal(
    409,
    'The user is a member already',
    'A user has one membership in an organisation. Change its role.',
  ),
  'last-administrator': refusal(
    409,
    'The organisation would have no administrator',
    'The change would take `users:admin` from the last active member of an organisation that has it. Give it to another member first.',
  ),
  'invalid-status-transition': refusal(
    409,
    'The status cannot change like this',
    'A deactivated user can only become active.',
  ),
  'user-shared': refusal(
    409,
    'The user is also a member of another organisation',
    'Only a platform client changes such a user as a whole. Remove the membership instead.',
  ),
  'user-not-deactivated': refusal(409, 'The user is not deactivated', 'Deactivate the user before you erase it.'),
  'permission-owned-by-other-service': refusal(
    409,
    'Another service owns the permission',
    'The first service that registers a permission owns its first segment. Use a segment of your own.',
  ),
  'service-owned-by-other-client': refusal(
    409,
    'Another client registers for the service',
    'The first registration binds the service to its client. Use that client, or another `serviceId`.',
  ),
  'client-secret-limit': refusal(
    409,
    'The client has two secrets',
    'A client may have at most two, and an expired one counts. Remove one first.',
  ),
  'last-secret': refusal(
    409,
    'The secret is the only one of the client',
    'Add another secret first, or disable or delete the client.',
  ),
  'authentication-method-fixed': refusal(
    409,
    'The client authenticates in another way',
    'A client has secrets, or with `private_key_jwt` public keys. This never changes. Register another client.',
  ),
  'scope-owned-by-other-service': refusal(
    409,
    'A scope belongs to another service',
    'The service that registered a scope first owns it. Built-in scopes belong to the platform. Choose another name.',
  ),
  'role-limit': refusal(
    409,
    'The organisation has too many roles',
    'An organisation may have at most 500. Delete one that no member has.',
  ),
  'text-version-limit': refusal(
    409,
    'The consent type has too many texts',
    'A consent type may have at most 1,000 texts, of all versions and locales. Create another consent type.',
  ),
  'rule-limit': refusal(
    409,
    'The organisation has too many rules',
    'An organisation may have at most 500 rules of notifications, also disabled ones. Delete one first.',
  ),
  'subscription-limit': refusal(
    409,
    'The organisation has too many webhook subscriptions',
    'An organisation may have at most 20. Delete one first.',
  ),
  'webhook-subscription-duplicate': refusal(
    409,
    'Another webhook subscription is the same',
    'A subscription of the organisation already delivers the same events to the same address. Change that one.',
  ),
  'webhook-subscription-disabled': refusal(
    409,
    'The webhook subscription is disabled',
    'A disabled subscription gets no deliveries. Enable it first: PATCH its status to active.',
  ),
  'projection-busy': passing(
    409,
    'The read model is being worked on',
    'One operation on a read model runs at a time. `GET /v1/operations/projections` shows it. Repeat the request after its end.',
  ),
  'projection-not-there': refusal(
    409,
    'The read model has not failed there',
    'Only the event at which a read model failed can be skipped. `GET /v1/operations/projections` shows its position.',
  ),
  'skip-refused': refusal(
    409,
    'The read model skips nothing',
    'Decisions depend on its rows. Correct the program, then retry it.',
  ),
  'not-retryable': refusal(
    409,
    'The work cannot be retried',
    'The group `other` has work that fails in many ways. Retry its items, or another group first.',
  ),
  'step-not-failing': refusal(
    409,
    'The work does not fail',
    'Only failing work is retried. Work that has not failed keeps its time. Read it again.',
  ),
  'webhook-delivery-pending': passing(
    409,
    'The webhook delivery is pending',
    '20 requests with different keys have already asked for this delivery while it is pending. Read its status. Repeat the request after its end, or without a key.',
  ),
  'too-many-secrets': refusal(
    409,
    'Too many earlier secrets are alive',
    'Four earlier secrets still sign in addition to the current one. Wait until one of them has ended, or rotate with a grace of 0 seconds.',
  ),
  'notification-not-failed': refusal(
    409,
    'The notification has not failed',
    'Only a failed notification is sent again. Read the notification.',
  ),
  'ai-review-not-cancellable': refusal(
    409,
    'The AI review cannot be cancelled',
    'It has completed, failed or been superseded. Read the review.',
  ),
  'ai-review-already-superseded': refusal(
    409,
    'The AI review was superseded',
    'Another review holds the slot of its case and product. The member `supersededById` of the review contains its id. Supersede that one.',
  ),
  'case-closed': refusal(
    409,
    'The case is closed',
    'A closed case takes no images, reviews and workflow instances. Open another case.',
  ),
  'case-in-review': refusal(
    409,
    'The case is in review',
    'A task of human review of the case is open or claimed. Decide it, then close the case.',
  ),
  'step-not-parked': refusal(
    409,
    'The instance waits at another step',
    '`parked_step_id` contains the step that the instance waits at. Only that step takes an output.',
  ),
  'workflow-instance-not-parked': refusal(
    409,
    'The workflow instance waits at no step',
    'The instance has ended, or waits for its assessment. Read it.',
  ),
  'workflow-instance-ended': refusal(
    409,
    'The workflow instance has ended',
    'It has completed, failed or been cancelled. Read it.',
  ),
  'task-claimed': refusal(
    409,
    'Another user holds the task',
    'Wait until the holder releases it or the lease ends, or claim another task.',
  ),
  'task-not-claimed': refusal(
    409,
    'The user does not hold the task',
    'Only the holder decides, until the lease ends. Claim the task first.',
  ),
  'opinion-given': refusal(
    409,
    'The user has given an opinion on the task',
    'Another user must give the next opinion. Claim another task.',
  ),
  'task-decided': refusal(409, 'The task is decided', 'A decision never changes. Read the task.'),
  'task-cancelled': refusal(
    409,
    'The task was cancelled',
    'Its AI review was superseded, or the patient withdrew the consent. `cancel_reason` of the task names the reason.',
  ),
  'legal-hold': refusal(
    409,
    'A legal hold forbids the erasure',
    'Read the hold of the patient: `GET …/legal-hold`. Release it, or wait for its end.',
  ),
  'second-person-required': refusal(
    409,
    'Another user must approve',
    'The user who asked for the erasure does not approve it.',
  ),
  'erasure-not-waiting': refusal(
    409,
    'The erasure does not wait for an approval',
    'It runs, has ended or was cancelled. Read it: `GET …/erasure`.',
  ),
  'subject-erased': refusal(
    410,
    'The data of the patient was erased',
    'The identity of the patient is no longer known, and nothing can be added to the record. Register the person as another patient.',
  ),
  'cursor-lost': refusal(
    410,
    'Events after the cursor are gone',
    'Events after the cursor were removed from the channel, or the channel was restored to an older state. Read the state of your records by the GET routes, then continue with `oldest_cursor`.',
  ),
  'user-erased': refusal(410, 'The user was erased', 'The data of the user no longer exists. Nothing can be changed.'),
  'export-expired': refusal(
    410,
    'The ZIP file of the export was deleted',
    'An export is kept for 24 hours. Request another one.',
  ),
  'precondition-failed': refusal(
    412,
    'The resource has changed',
    'If-Match contains another revision. Read the resource and decide again.',
  ),
  'body-too-large': refusal(
    413,
    'The body is too large',
    'A form, and a body at a route that needs no token, may have at most 16 KiB. A JSON body may have at most 1 MiB. The body of an assessment may have 64 MiB, and at most 1 MiB without the data of its images.',
  ),
  'command-too-large': refusal(
    413,
    'The request is too large to be recorded',
    'Its data exceeds 1 MiB. Send less text.',
  ),
  'unsupported-media-type': refusal(
    415,
    'The media type is not supported',
    'Send application/json. Only the routes of tokens, the sign-in at the console and the link to unsubscribe take forms.',
  ),
  'expectation-failed': refusal(
    417,
    'The expectation cannot be met',
    'The header Expect may only contain 100-continue. Send the request without it.',
  ),
  'quota-exceeded': passing(
    429,
    'Too many requests',
    'The client, its organisation or its address has used up its quota for now; the header RateLimit shows which one. An address with too many wrong credentials must also wait. Try again after Retry-After.',
  ),
  'too-many-streams': passing(
    429,
    'Too many requests of the client wait for events',
    'A client may have 2,000 event streams and waiting requests at a time in one instance. End some of them, or try again after Retry-After.',
  ),
  'budget-exceeded': passing(
    429,
    'The organisation has used up its AI reviews of the day',
    'An organisation may start a number of AI reviews in one UTC day, which the operator sets. Try again after Retry-After, at midnight UTC. Reading, and repeating a request, uses up nothing.',
  ),
  'headers-too-large': refusal(431, 'The headers are too large', 'Send at most 16 KiB of headers.'),
  'internal-error': passing(
    500,
    'An internal error happened',
    'The log contains the failure under the request_id. Try again with back-off.',
  ),
  'record-unreadable': refusal(
    500,
    'The record cannot be read',
    'A stored event of the record was not written there by the platform or cannot be decrypted, or somebody deleted the stream of the record in the event store. Nothing was recorded. The log contains the event under the request_id. An operator must examine the event store and the vault.',
  ),
  'transfer-coding-unsupported': refusal(
    501,
    'The transfer coding is not supported',
    'The header Transfer-Encoding may only contain chunked. Send the body as it is.',
  ),
  'identity-provider-rejected': refusal(
    502,
    'The identity provider refused',
    'The identity provider does not accept the account. Nothing was created. Check the address and the configuration of the provider.',
  ),
  'read-model-behind': passing(
    503,
    'The answer would not be up to date',
    'This answer must be current, and the read model is behind. Try again after Retry-After.',
  ),
  'provenance-not-sealed': passing(
    503,
    'The newest events of the AI review are not sealed yet',
    'The log is sealed once a minute (SEAL_INTERVAL_SECONDS). Try again after Retry-After.',
  ),
  'actor-context-unavailable': passing(
    503,
    'The actor context cannot be checked now',
    'The present permissions of the user are not known. Try again after Retry-After.',
  ),
  'event-store-unavailable': passing(
    503,
    'The event store cannot be reached',
    'If the request records something, it is unknown whether it did. Try again after Retry-After, with the same Idempotency-Key.',
  ),
  'access-log-unavailable': passing(
    503,
    'The access cannot be recorded',
    'The answer shows personal content, and nothing personal leaves before the access log contains it. A write of this request may have been done. Try again after Retry-After, with the same Idempotency-Key.',
  ),
  'written-by-newer-version': passing(
    503,
    'A newer version has written to the record',
    'A newer program version has written to the record, and this instance cannot read it. It is unknown whether anything was recorded. Try again after Retry-After, with the same Idempotency-Key. An instance of the newer version will answer.',
  ),
  'database-unavailable': passing(503, 'The database cannot be reached', 'Try again after Retry-After.'),
  'object-store-unavailable': passing(
    503,
    'The object store cannot be reached',
    'Try again after Retry-After, with the same Idempotency-Key.',
  ),
  'identity-provider-unavailable': passing(
    503,
    'The identity provider cannot be reached',
    'Nothing was created. Try again after Retry-After, with the same Idempotency-Key.',
  ),
  'registration-under-way': passing(
    503,
    'The user is being created',
    'An earlier attempt with the same Idempotency-Key has not ended. Try again after Retry-After.',
  ),
  'shutting-down': passing(503, 'The server is stopping', 'Try again after Retry-After. Another instance will answer.'),
} as const satisfies Record<string, ProblemDefinition>

export type ProblemCode = keyof typeof problems

export function isProblemCode(name: string): name is ProblemCode {
  return Object.hasOwn(problems, name)
}

/** Stable across deployments; the documentation itself is served at `/problems/{code}` of each. */
export function problemType(code: ProblemCode): string {
  return `https://clinical-assessment-platform.org/problems/${code}`
}

/** One rejected member: its place (RFC 6901), the reason, and the rule's name. Never the rejected value. */
export interface MemberError {
  readonly pointer: string
  readonly detail: string
  readonly code: string
  /** Place within the text of a template, both from 1. */
  readonly line?: number
  readonly column?: number
}

export interface ProblemDetails {
  /** Text for the caller: no values of the request, no personal data. */
  readonly detail?: string
  readonly errors?: readonly MemberError[]
  readonly retryAfterSeconds?: number
  readonly headers?: Readonly<Record<string, string>>
  /** More members of the body. */
  readonly extensions?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** Thrown anywhere below a route. The HTTP application turns it into an answer. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly isSafeToLog = true
  readonly code: ProblemCode
  readonly status: number
  readonly detail: string
  readonly errors: readonly MemberError[] | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly extensions: Readonly<Record<string, unknown>>

  constructor(code: ProblemCode, options: ProblemDetails = {}) {
    const definition: ProblemDefinition = problems[code]
    super(options.detail ?? definition.title, { cause: options.cause })
    this.code = code
    this.status = definition.status
    this.detail = options.detail ?? definition.doc
    this.errors = options.errors
    this.extensions = options.extensions ?? {}
    const retryAfterSeconds = options.retryAfterSeconds ?? (definition.status === 503 ? 1 : undefined)
    this.headers = {
      ...options.headers,
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    }
  }
}

/** Whether an answer is a failure of the platform. 501 refuses how a caller sent its body (RFC 9112, 6.1). */
export function isFailure(status: number): boolean {
  return status >= 500 && status !== 501
}

/** `throw problem('conflict')`. */
export function problem(code: ProblemCode, options: ProblemDetails = {}): Problem {
  return new Problem(code, options)
}

/** @throws Problem `validation-failed` with the errors, if there are any */
export function requireValid(errors: readonly MemberError[]): void {
  if (errors.length > 0) throw problem('validation-failed', { errors })
}

/** 400 for one member of the request, or another code: `throw invalidMember('/locale', 'must be …', 'locale')`. */
export function invalidMember(
  pointer: string,
  detail: string,
  rule: string,
  code: ProblemCode = 'validation-failed',
): Problem {
  return problem(code, { errors: [{ pointer, detail, code: rule }] })
}
