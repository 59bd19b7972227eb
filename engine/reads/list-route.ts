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
import type { ServiceApp } from '../../platform/http/service.ts'
import { nameShown, type Persons } from '../../platform/http/shown-content.ts'
import type { Tenancy } from '../../platform/http/tenancy.ts'
import { memberName, type MemberName } from '../../platform/kit/member-names.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import {
  configOf,
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
  const { placeOf, toItem, shows } = route
  const contentOf = personalReaderOf(item)
  const requestOf = requestReader(route)
  const [pageOf, members] = casing === 'camel' ? [camelPage, camelPageMembers()] : [page, pageMembers()]
  const Page = Type.Object({ data: Type.Array(item), ...members }, { $id: pageName })
  const filterNames = Object.keys(route.query ?? {})
  app.get(
    route.path,
    {
      schema: schemaOf(
        {
          ...route,
          query: { ...listQueryUpTo(greatestPage), ...route.query },
          problems: ['invalid-cursor', 'expired-cursor', ...(route.problems ?? [])],
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
      const found = await route.rows(
        // The names of members follow from those of the parameters, as the type does.
        { ...asked, filters: filters as FiltersOf<Query> },
        pageRequest(cursors, identity, asked.query, greatestPage),
      )
      const answer = pageOf(reply, { cursors, list: identity, found, placeOf, toItem, unlinked })
      if (contentOf !== undefined && shows !== undefined) {
        // The page may have fewer items than there are rows.
        const rows = found.rows.slice(0, answer.data.length)
        const parts = rows.map((row, index) => ({
          content: contentOf(answer.data[index]),
          persons: shows(row, asked),
        }))
        nameShown(request, asked.tenant ?? noOrganisation, parts)
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
