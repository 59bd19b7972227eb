import type { ParkedStep, WorkflowInstanceRecord } from '../../contracts/workflows/instance.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  workflowDefinitionsTable,
  workflowInstancesTable,
  workflowOutputsTable,
  workflowsProjector,
  workflowVersionsTable,
} from '../../projections/workflows/workflows.projector.ts'
import { fromText, opened, type OpeningReads } from '../../engine/reads/opened.ts'
import {
  asText,
  childrenOf,
  computed,
  filtered,
  on,
  oneView,
  pageOf,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
  type Filters,
} from '../../engine/reads/tenant-rows.ts'

const d = tableOf(workflowsProjector, workflowDefinitionsTable, 'd')
const v = tableOf(workflowsProjector, workflowVersionsTable, 'v')
const i = tableOf(workflowsProjector, workflowInstancesTable, 'i')
const o = tableOf(workflowsProjector, workflowOutputsTable, 'o')

function versionsOf(tenant: TenantId, definitionId: string) {
  return rowsOfTenant(v, tenant).where(v.workflowDefinitionId, definitionId)
}

export async function getWorkflowVersion(pool: Pool, tenant: TenantId, definitionId: string, version: number) {
  return oneView(pool, versionsOf(tenant, definitionId).where(v.version, version))
}

/** The newest version. */
export const getWorkflowDefinition = viewByIds((tenant: TenantId, id: string) =>
  versionsOf(tenant, id).orderByRaw('?? desc', [v.version]).limit(1),
)

const newestDefinitions = sortOrder('desc', d.publishedAt, d.workflowDefinitionId)
export const { placeOf: placeOfDefinition } = newestDefinitions

/** The newest version of each, the last published one first. */
export async function listWorkflowDefinitions(pool: Pool, tenant: TenantId, page: PageRequest) {
  const definitions = rowsOfTenant(d, tenant)
  return pageOf(pool, newestDefinitions, definitions, page)
}

function instancesOf(tenant: TenantId) {
  return rowsOfTenant(i, tenant)
}

const outputs = () =>
  childrenOf(o, {
    on: { workflowInstanceId: i.workflowInstanceId },
    select: { stepId: o.stepId, output: asText(o.output), values: asText(o.values) },
    orderBy: [o.stepId],
  })

/** With the configuration of the step that the instance waits at, from its version of the definition, and all outputs. */
export async function getWorkflowInstance({ pool, vault }: OpeningReads, tenant: TenantId, id: string) {
  const { steps, ...instance } = await instanceRow(pool, tenant, id)
  const given = steps.map(({ stepId, output, values }) => ({
    stepId,
    output: fromText(output),
    values: fromText(values),
  }))
  const open = await opened(vault, given)
  const outputsByStep: WorkflowInstanceRecord['outputs'] = Object.fromEntries(
    open.map(({ stepId, output, values }) => [stepId, output ?? (values === null ? null : { values })]),
  )
  return { ...instance, outputs: outputsByStep }
}

const instanceRow = viewByIds((tenant: TenantId, id: string) =>
  instancesOf(tenant)
    .join(...on(v, { workflowDefinitionId: i.workflowDefinitionId, version: i.definitionVersion }))
    .select({
      parkedStepConfig: computed<ParkedStep['config'] | null>(
        `jsonb_path_query_first(??, '$[*] \\? (@.step_id == $id).config', jsonb_build_object('id', ??))`,
        [v.steps, i.parkedStepId],
      ),
      steps: outputs(),
    })
    .where(i.workflowInstanceId, id),
)

const newestInstances = sortOrder('desc', i.startedAt, i.workflowInstanceId)
export const { placeOf: placeOfInstance } = newestInstances

/** Newest first, without outputs and configurations. */
export async function listWorkflowInstances(
  pool: Pool,
  tenant: TenantId,
  filters: Filters<typeof workflowInstancesTable>,
  page: PageRequest,
) {
  const instances = filtered(instancesOf(tenant), i, filters)
  return pageOf(pool, newestInstances, instances, page)
}
