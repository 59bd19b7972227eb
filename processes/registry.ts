import { aiReviewChannel, type AiReviewChannelDependencies } from './ai-review/ai-review.channel.ts'
import { aiReviewProcess } from './ai-review/ai-review.process.ts'
import { assessmentChannel } from './assessments/assessments.channel.ts'
import { assessmentsProcess } from './assessments/assessments.process.ts'
import { auditChannel } from './audit/audit.channel.ts'
import { exportsProcess } from './audit/exports.process.ts'
import { erasuresProcess } from './clinical/erasures.process.ts'
import { clinicalProcess } from './clinical/clinical.process.ts'
import { clinicalChannel } from './clinical/clinical.channel.ts'
import { consentChannel } from './consent/consent.channel.ts'
import type { ProcessDependencies } from './dependencies.ts'
import { humanReviewChannel } from './human-review/human-review.channel.ts'
import { humanReviewProcess } from './human-review/human-review.process.ts'
import { notificationChannel } from './notifications/notifications.channel.ts'
import { notificationsProcess } from './notifications/notifications.process.ts'
import type { Channel, StateStore } from '../engine/relay/channel.ts'
import type { Process } from '../engine/processes/process.ts'
import { usersProcess } from './users/users.process.ts'
import { usersChannel } from './users/users.channel.ts'
import { webhookChannel } from './webhooks/webhooks.channel.ts'
import { webhooksProcess } from './webhooks/webhooks.process.ts'
import { workflowChannel } from './workflows/workflows.channel.ts'
import { workflowsProcess } from './workflows/workflows.process.ts'

/** All processes. */
export const processes: readonly Process<ProcessDependencies>[] = [
  aiReviewProcess,
  assessmentsProcess,
  clinicalProcess,
  erasuresProcess,
  exportsProcess,
  humanReviewProcess,
  notificationsProcess,
  usersProcess,
  webhooksProcess,
  workflowsProcess,
]

/** All public channels. Each has a relay. */
export const channels: readonly Channel<AiReviewChannelDependencies & StateStore>[] = [
  aiReviewChannel,
  assessmentChannel,
  auditChannel,
  clinicalChannel,
  consentChannel,
  humanReviewChannel,
  notificationChannel,
  usersChannel,
  webhookChannel,
  workflowChannel,
]
