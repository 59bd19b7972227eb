import { aiReviewEventsChannel, type AiReviewChannelDependencies } from './ai-review/ai-review.channel.ts'
import { aiReviewProcess } from './ai-review/ai-review.effects.ts'
import { assessmentEventsChannel } from './assessments/assessments.channel.ts'
import { assessmentsProcess } from './assessments/assessments.effects.ts'
import { clinicalProcess } from './clinical/clinical.effects.ts'
import { clinicalEventsChannel } from './clinical/clinical.channel.ts'
import { consentEventsChannel } from './consent/consent.channel.ts'
import type { ProcessDependencies } from './dependencies.ts'
import type { ChannelDefinition } from './relay/channel.ts'
import type { Process } from './runtime/process.ts'
import { webhookEventsChannel } from './webhooks/webhooks.channel.ts'
import { webhooksProcess } from './webhooks/webhooks.effects.ts'

/** Every reaction to facts. */
export const processes: readonly Process<ProcessDependencies>[] = [
  aiReviewProcess,
  assessmentsProcess,
  clinicalProcess,
  webhooksProcess,
]

/** Every public channel, each with its relay. */
export const channels: readonly ChannelDefinition<AiReviewChannelDependencies>[] = [
  aiReviewEventsChannel,
  assessmentEventsChannel,
  clinicalEventsChannel,
  consentEventsChannel,
  webhookEventsChannel,
]
