import { describe, expect, it } from 'vitest'
import {
  cursorOf,
  NEWEST,
  newerPage,
  olderPage,
  PLAIN_SEARCH,
  withCursor,
} from '../../../../explorer/web/src/parts/listPlace.ts'

const { parseSearch, stringifySearch } = PLAIN_SEARCH

describe('the page of a list in the address', () => {
  it.each(['7', '9007199254740991', '12.10', '12.1', `1${'0'.repeat(70)}.0x${'ab'.repeat(20)}`])(
    'is the one that was shown, for the cursor %s',
    (cursor) => {
      const address = stringifySearch({ ...withCursor({ tab: 'Logs' }, 'before', olderPage(NEWEST, cursor)) })
      const search = parseSearch(address)
      expect(cursorOf(search, 'before')).toBe(cursor)
      expect(search).toMatchObject({ tab: 'Logs' })
      expect(cursorOf(search, 'deposits')).toBeUndefined()
    },
  )

  it('is the newest one when the address holds no cursor of the API', () => {
    for (const text of ['', 'x', '-1', '1e3', '1.', '{"a":1}', '1&limit=100']) {
      expect(cursorOf(parseSearch(`?before=${encodeURIComponent(text)}`), 'before')).toBeUndefined()
    }
    expect(stringifySearch({ ...withCursor({ before: '7' }, 'before', NEWEST) })).toBe('')
  })

  it('goes back by the cursors of the newer pages', () => {
    const third = olderPage(olderPage(NEWEST, '50'), '25')
    expect(third).toEqual({ cursor: '25', newer: ['', '50'] })
    expect(newerPage(third)).toEqual({ cursor: '50', newer: [''] })
    expect(newerPage(newerPage(third))).toEqual(NEWEST)
    // Of an address that somebody shared, only its own cursor is known.
    expect(newerPage({ cursor: '25', newer: [] })).toEqual(NEWEST)
  })
})
