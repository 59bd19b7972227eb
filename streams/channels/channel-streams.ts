import { aiReviewChannelStream } from './ai-review.ts'
import { assessmentChannelStream } from './assessment.ts'
import { auditChannelStream } from './audit.ts'
import { clinicalChannelStream } from './clinical.ts'
import { consentChannelStream } from './consent.ts'
import { humanReviewChannelStream } from './human-review.ts'
import { notificationChannelStream } from './notification.ts'
import { usersChannelStream } from './users.ts'
import { webhookChannelStream } from './webhook.ts'
import { workflowChannelStream } from './workflow.ts'

/** The streams of all public channels. Rules of notifications match the events of each. */
export const channelStreams = [
  aiReviewChannelStream,
  assessmentChannelStream,
  auditChannelStream,
  clinicalChannelStream,
  consentChannelStream,
  humanReviewChannelStream,
  notificationChannelStream,
  usersChannelStream,
  webhookChannelStream,
  workflowChannelStream,
]
