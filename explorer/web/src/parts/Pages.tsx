import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Page } from '../api.ts'
import { Note } from './Card.tsx'
import { cursorOf, type ListPlace, NEWEST, newerPage, olderPage, withCursor } from './listPlace.ts'

interface ListProps<T, K extends QueryKey, C extends number | string> {
  /** requests the page before this cursor; undefined: the newest page */
  readonly query: (before: C | undefined) => UseQueryOptions<Page<T, C>, Error, Page<T, C>, K>
  /** shown when the list is empty */
  readonly empty: string
  /** the name of the list in the address; needed where a page shows several lists */
  readonly name?: string
  /** what the list may lack; shown above it, and instead of `empty` */
  readonly note?: (page: Page<T, C>) => ReactNode
  readonly children: (items: readonly T[]) => ReactNode
}

/** A list with number cursors that is longer than a page, with buttons to the newer and the older pages. */
export function Pages<T, K extends QueryKey>({ query, ...rest }: ListProps<T, K, number>) {
  const queryOf = (before: string | undefined) => query(before === undefined ? undefined : Number(before))
  return <CursorPages query={queryOf} {...rest} />
}

/** The same for lists with text cursors. */
export function TextPages<T, K extends QueryKey>(props: ListProps<T, K, string>) {
  return <CursorPages {...props} />
}

interface CursorPagesProps<T, K extends QueryKey, C extends number | string> extends Omit<ListProps<T, K, C>, 'query'> {
  readonly query: (before: string | undefined) => UseQueryOptions<Page<T, C>, Error, Page<T, C>, K>
}

function CursorPages<T, K extends QueryKey, C extends number | string>({
  query,
  empty,
  name = 'before',
  note,
  children,
}: CursorPagesProps<T, K, C>) {
  const { place, show } = useListPlace(name)
  const { data, error } = useQuery(query(place.cursor))
  const isNewest = place.cursor === undefined
  const newest = (
    <button type="button" disabled={isNewest} onClick={() => show(NEWEST)}>
      Newest
    </button>
  )
  if (error !== null) {
    // The address may hold a cursor of another list: there must be a way back.
    return (
      <>
        <Note>{error.message}</Note>
        {!isNewest && (
          <nav className="pages" aria-label="Pages of the list">
            {newest}
          </nav>
        )}
      </>
    )
  }
  if (data === undefined) return <Note>Loading …</Note>
  const lacking = note?.(data)
  if (data.items.length === 0 && isNewest) return lacking ?? <Note>{empty}</Note>
  const { next } = data
  return (
    <>
      {lacking}
      {children(data.items)}
      {(!isNewest || next !== null) && (
        <nav className="pages" aria-label="Pages of the list">
          {newest}
          <button type="button" disabled={place.newer.length === 0} onClick={() => show(newerPage(place))}>
            Newer
          </button>
          <button
            type="button"
            disabled={next === null}
            onClick={() => next !== null && show(olderPage(place, String(next)))}
          >
            Older
          </button>
        </nav>
      )}
    </>
  )
}

/** Which page of a list the address names, and a function that shows another one. */
function useListPlace(list: string) {
  const { search, state } = useRouterState({ select: ({ location }) => location })
  const navigate = useNavigate()
  const place: ListPlace = { cursor: cursorOf(search, list), newer: state.newerPages?.[list] ?? [] }
  const show = (next: ListPlace): void => {
    void navigate({
      to: '.',
      search: withCursor(search, list, next) as never,
      state: { newerPages: { ...state.newerPages, [list]: next.newer } },
      resetScroll: false,
    })
  }
  return { place, show }
}
