import { parseSearchWith, stringifySearchWith } from '@tanstack/react-router'

/*
 * Which page of a list is shown, as the address of the page holds it: `?before=…`, the cursor of the API (explorer/api/cursors.ts). So a
 * reader who reloads or shares the address sees the same rows. The cursors of the newer pages are in the entry of the browser's history:
 * the API pages in one direction, from the newest row to the oldest.
 */

/** Search parameters as they are: the router's own form would read the cursor `12.10` as a number and lose the zero. */
export const PLAIN_SEARCH = {
  parseSearch: parseSearchWith((text) => text),
  stringifySearch: stringifySearchWith(String),
} as const

type Search = Readonly<Record<string, unknown>>

/** Of each list of a page by its name: the cursors of the pages that are newer than the one shown, '' for the newest. */
type NewerPages = Readonly<Record<string, readonly string[]>>

declare module '@tanstack/react-router' {
  interface HistoryState {
    readonly newerPages?: NewerPages
  }
}

/** A number, `number.number` or `number.address`. */
const CURSOR = /^[0-9]{1,78}(\.([0-9]{1,7}|0x[0-9a-f]{40}))?$/

/** The cursor that an address holds for a list; undefined: the newest page, also when the address holds something else. */
export function cursorOf(search: Search, list: string): string | undefined {
  const text = String(search[list] ?? '')
  return CURSOR.test(text) ? text : undefined
}

/** A page of a list: its cursor, and those of the newer pages. */
export interface ListPlace {
  readonly cursor: string | undefined
  readonly newer: readonly string[]
}

export const NEWEST: ListPlace = { cursor: undefined, newer: [] }

/** The page after this one. */
export function olderPage({ cursor, newer }: ListPlace, next: string): ListPlace {
  return { cursor: next, newer: [...newer, cursor ?? ''] }
}

/** The page before this one; the newest page where the address alone is known. */
export function newerPage({ newer }: ListPlace): ListPlace {
  return { cursor: newer.at(-1) || undefined, newer: newer.slice(0, -1) }
}

/** The address with this page of a list. */
export function withCursor(search: Search, list: string, { cursor }: ListPlace): Search {
  const { [list]: _old, ...rest } = search
  return cursor === undefined ? rest : { ...rest, [list]: cursor }
}
