import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Page } from '../api.ts'
import { Note } from './Card.tsx'

interface ListProps<T, K extends QueryKey, C extends number | string> {
  /** what asks for the part before this place; undefined: the newest */
  readonly query: (before: C | undefined) => UseQueryOptions<Page<T, C>, Error, Page<T, C>, K>
  /** what stands there when the list is empty */
  readonly empty: string
  /** what the list may lack; shown above it, and instead of `empty` */
  readonly note?: (page: Page<T, C>) => ReactNode
  readonly children: (items: readonly T[]) => ReactNode
}

/** A list that is longer than a page, with buttons to the newer and the older part. Its parts are known by positions. */
export function Pages<T, K extends QueryKey>(props: ListProps<T, K, number>) {
  return <TextPages {...props} />
}

/** The same for lists whose parts are known by texts. */
export function TextPages<T, K extends QueryKey, C extends number | string = string>({
  query,
  empty,
  note,
  children,
}: ListProps<T, K, C>) {
  const [places, setPlaces] = useState<readonly C[]>([])
  const { data, error } = useQuery(query(places.at(-1)))
  if (error !== null) return <Note>{error.message}</Note>
  if (data === undefined) return <Note>Loading …</Note>
  const lacking = note?.(data)
  if (data.items.length === 0) return lacking ?? <Note>{empty}</Note>
  const { next } = data
  return (
    <>
      {lacking}
      {children(data.items)}
      {(places.length > 0 || next !== null) && (
        <nav className="pages" aria-label="Pages of the list">
          <button type="button" disabled={places.length === 0} onClick={() => setPlaces([])}>
            Newest
          </button>
          <button type="button" disabled={places.length === 0} onClick={() => setPlaces(places.slice(0, -1))}>
            Newer
          </button>
          <button type="button" disabled={next === null} onClick={() => next !== null && setPlaces([...places, next])}>
            Older
          </button>
        </nav>
      )}
    </>
  )
}
