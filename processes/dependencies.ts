import type { CommandDependencies } from '../engine/commands/dependencies.ts'
import type { StepFunction } from '../engine/processes/define-process.ts'
import type { IdentityProvider } from '../contracts/users/identity-provider.ts'
import type { TenantId } from '../platform/kit/tenants.ts'
import type { Failpoint } from '../platform/lifecycle/graceful-stop.ts'
import type { ObjectStore } from '../platform/storage/object-store.ts'
import type { ExportRuns } from './audit/export-runs.ts'
import type { CaseLookup } from './adapters/case-lookup.ts'
import type { ConsentCheck } from './adapters/consent-check.ts'
import type { ImageFetch } from './adapters/image-fetch.ts'
import type { NotificationSender, OutgoingChat, OutgoingMail } from './adapters/notification-sender.ts'
import type { Provider } from './adapters/provider.ts'
import type { RecipientLookup } from './adapters/recipient-lookup.ts'
import type { ReviewSupersession } from './adapters/review-supersession.ts'
import type { WebhookSender } from './adapters/webhook-sender.ts'
import type { WebhookSignatures } from './adapters/webhook-signatures.ts'
import type { DeliveryBodies } from './webhooks/delivery-body.ts'

/** The dependencies of the steps of every process. */
export interface ProcessDependencies extends CommandDependencies {
  readonly objects: ObjectStore
  readonly provider: Provider
  readonly images: ImageFetch
  readonly consent: ConsentCheck
  readonly cases: CaseLookup
  readonly reviews: ReviewSupersession
  readonly webhooks: WebhookSender
  readonly signatures: WebhookSignatures
  readonly bodies: DeliveryBodies
  readonly recipients: RecipientLookup
  readonly mails: NotificationSender<OutgoingMail>
  readonly chats: NotificationSender<OutgoingChat>
  readonly exports: ExportRuns
  readonly identityProvider: IdentityProvider
  /**
   * Every stream about a patient, also of shared records that name it. Each once, and everything recorded before the call.
   * @throws Problem `read-model-behind`
   */
  readonly patientStreams: (tenant: TenantId, patientId: string) => AsyncIterable<string>
  /**
   * The users whose account names a patient with this id, of whatever organisation.
   * @throws Problem `read-model-behind`
   */
  readonly usersOfPatient: (patientId: string) => Promise<readonly string[]>
  readonly failpoint: Failpoint
  /** From [0, 1); spreads retries. */
  readonly random: () => number
}

/** A step of a process of this program. */
export type ProcessStep<Payload = object> = StepFunction<Payload, ProcessDependencies>
