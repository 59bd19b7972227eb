import type { FastifyRequest } from 'fastify'
import { Type, type Static, type TObject, type TSchema } from 'typebox'
import {
  camelPage,
  camelPageMembers,
  greatestLimit,
  listQueryUpTo,
  page,
  pageMembers,
  pageRequest,
  type CursorPlace,
  type ListIdentity,
  type PageRequest,
  type PageRows,
} from '../../platform/http/cursors.ts'
import { personalReaderOf } from '../../platform/http/personal-members.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { nameShown, requireLiving, type Persons } from '../../platform/http/shown-content.ts'
import type { Tenancy } from '../../platform/http/tenancy.ts'
import { memberName, type MemberName } from '../../platform/kit/member-names.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import {
  configOf,
  problemsOf,
  requestReader,
  schemaOf,
  type Members,
  type NoMembers,
  type ReadDependencies,
  type ReadRequest,
  type RouteDeclaration,
} from './read-route.ts'

export interface ListRoute<
  Params extends Members,
  Query extends Members,
  Item extends TSchema,
  Row,
  Kind extends Tenancy = 'required',
> extends RouteDeclaration<Params, Query, Kind> {
  /** Names of the list and its order. A cursor is valid for one list, order and set of parameters only. */
  readonly list: string
  readonly sort: string
  /** The kind of record that `:id` of the path names. */
  readonly idOf?: string
  /** `$id` of the page's schema. */
  readonly pageName: string
  readonly item: Item
  readonly casing?: 'camel'
  /** Most items of a page, for lists of large items. */
  readonly greatestPage?: number
  /** Filters with personal data. The caller adds them to the link of the next page. */
  readonly unlinked?: readonly (keyof NoInfer<Query> & string)[]
  /** Up to `page.limit` rows behind `page.after`. `pageOf` finds them. */
  readonly rows: (
    request: ReadRequest<Params, Query, NoInfer<Kind>> & { readonly filters: FiltersOf<Query> },
    page: PageRequest,
  ) => Promise<PageRows<Row>>
  readonly placeOf: (row: NoInfer<Row>) => CursorPlace
  readonly toItem: (row: Row) => Static<Item>
  /** The persons whose content an item shows. Required if the schema of the items marks personal content. */
  readonly shows?: (row: NoInfer<Row>, request: ReadRequest<Params, Query, NoInfer<Kind>>) => Persons
  /** The patient whom an item is about, if the items show no personal content. */
  readonly about?: (row: NoInfer<Row>) => string | null
  /** The list contains items about erased patients too: with ids, hashes and nulls. */
  readonly showsErased?: true
}

/** The filters that the request names, by their members: `case_id` is `caseId`. */
type FiltersOf<Query extends Members> = {
  readonly [Name in keyof Static<TObject<Query>> as Name extends string ? MemberName<Name> : never]: Static<
    TObject<Query>
  >[Name]
}

/** A GET of a list by pages. `query` of the declaration contains its filters. */
export function listRoute<
  Item extends TSchema,
  Row,
  Params extends Members = NoMembers,
  Query extends Members = NoMembers,
  Kind extends Tenancy = 'required',
>(
  app: ServiceApp,
  { cursors }: Pick<ReadDependencies, 'cursors'>,
  route: ListRoute<Params, Query, Item, Row, Kind>,
): void {
  const { list, sort, idOf = 'id', pageName, item, casing, greatestPage = greatestLimit, unlinked = [] } = route
  const { placeOf, toItem, shows, about, showsErased = false } = route
  const contentOf = personalReaderOf(item)
  const requestOf = requestReader(route)
  const [pageOf, members] = casing === 'camel' ? [camelPage, camelPageMembers()] : [page, pageMembers()]

  /**
   * Without the items about patients whose erasure has begun. The page may be empty although more follow.
   * @throws Problem `subject-erased` if it is the list of a record of such a patient
   */
  function living(
    request: FastifyRequest,
    asked: ReadRequest<Params, Query, Kind>,
    read: PageRows<Row>,
  ): PageRows<Row> {
    if (showsErased) return read
    const tenant = asked.tenant ?? noOrganisation
    const patientId: unknown = Reflect.get(asked.params, 'patientId')
    if (typeof patientId === 'string') requireLiving(request, tenant, { patientId })
    const patientOf = (row: Row) => shows?.(row, asked).patientId ?? about?.(row)
    const isErased = (row: Row) => {
      const id = patientOf(row)
      return typeof id === 'string' && request.server.isErased(tenant, id)
    }
    const rows = read.rows.filter((row) => !isErased(row))
    if (rows.length === read.rows.length) return read
    if (route.params !== undefined) throw problem('subject-erased')
    const last = read.rows.at(-1)
    return { ...read, rows, reached: read.reached ?? (last && placeOf(last)) }
  }

  const Page = Type.Object({ data: Type.Array(item), ...members }, { $id: pageName })
  const filterNames = Object.keys(route.query ?? {})
  app.get(
    route.path,
    {
      schema: schemaOf(
        {
          ...route,
          query: { ...listQueryUpTo(greatestPage), ...route.query },
          problems: [
            'invalid-cursor',
            'expired-cursor',
            ...(route.params === undefined ? (route.problems ?? []) : problemsOf(route)),
          ],
        },
        Page,
      ),
      config: { ...configOf(route), ...(shows === undefined ? {} : { showsPersonal: true }) },
    },
    async (request, reply) => {
      const asked = requestOf(request)
      const filters = filtersOf(asked.query, filterNames)
      const owner = filtersOf(asked.params, Object.keys(route.params ?? {}), idOf)
      const identity = { list, orgId: asked.tenant, sort, filters: { ...owner, ...filters } }
      const tenant = asked.tenant ?? noOrganisation
      const read = await route.rows(
        // The names of members follow from those of the parameters, as the type does.
        { ...asked, filters: filters as FiltersOf<Query> },
        pageRequest(cursors, identity, asked.query, greatestPage),
      )
      const found = living(request, asked, read)
      const answer = pageOf(reply, { cursors, list: identity, found, placeOf, toItem, unlinked })
      if (contentOf !== undefined && shows !== undefined) {
        // The page may have fewer items than there are rows.
        const rows = found.rows.slice(0, answer.data.length)
        const parts = rows.map((row, index) => ({
          content: contentOf(answer.data[index]),
          persons: shows(row, asked),
        }))
        nameShown(request, tenant, parts)
      }
      return answer
    },
  )
}

/** Parameters by their members. An omitted parameter is undefined, which counts as absent. */
function filtersOf(values: object, names: readonly string[], idOf = 'id'): ListIdentity['filters'] {
  const given = new Map<string, unknown>(Object.entries(values))
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = given.get(name)
      const isGiven = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      return isGiven ? [[name === 'id' ? idOf : memberName(name), value]] : []
    }),
  )
}
