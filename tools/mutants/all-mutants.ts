import { commandMutants } from './command-mutants.ts'
import { concurrencyKeyMutants } from './concurrency-key-mutants.ts'
import { erasureMutants } from './erasure-mutants.ts'
import { imageMutants } from './image-mutants.ts'
import { inlineImageMutants } from './inline-image-mutants.ts'
import type { Mutant } from './mutant.ts'
import { notificationMutants } from './notification-mutants.ts'
import { processMutants } from './process-mutants.ts'
import { processRuntimeMutants } from './process-runtime-mutants.ts'
import { projectionMutants } from './projection-mutants.ts'
import { securityMutants } from './security-mutants.ts'
import { settingMutants } from './setting-mutants.ts'
import { storeMutants } from './store-mutants.ts'
import { subscriptionMutants } from './subscription-mutants.ts'
import { userMutants } from './user-mutants.ts'
import { templateMutants } from './template-mutants.ts'
import { webhookMutants } from './webhook-mutants.ts'
import { workflowMutants } from './workflow-mutants.ts'

export const allMutants: readonly Mutant[] = [
  ...commandMutants,
  ...erasureMutants,
  ...imageMutants,
  ...inlineImageMutants,
  ...notificationMutants,
  ...projectionMutants,
  ...processMutants,
  ...processRuntimeMutants,
  ...concurrencyKeyMutants,
  ...securityMutants,
  ...settingMutants,
  ...storeMutants,
  ...subscriptionMutants,
  ...userMutants,
  ...templateMutants,
  ...webhookMutants,
  ...workflowMutants,
]
