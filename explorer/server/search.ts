import { z } from 'zod'
import {
  AddressError,
  BECH32_OPERATOR,
  parseAddress,
  parseTypedAddress,
  toBech32,
  toChecksumAddress,
} from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import type { Api } from '../api/api.ts'
import { findBlock } from '../blocks/queries.ts'
import { findPosition } from '../contracts/queries.ts'
import { findValidator, searchValidators } from '../stake/queries.ts'
import { searchTokens } from '../tokens/queries.ts'
import { found } from './shapes.ts'

/** Most tokens, and most validators, that a search returns. */
const MAX_NAMED = 10

/** The search over blocks, transactions, accounts, tokens and validators. */
export function addSearch(app: Api['app'], { queries }: Pick<Api, 'queries'>): void {
  app.get(
    '/search',
    {
      schema: {
        tags: ['network'],
        summary:
          'Search for a height, a hash of either kind, an address in any encoding, or the first letters of the name or symbol of a token or of the name of a validator',
        querystring: z.object({ q: z.string().trim().min(1).max(100) }),
        response: { 200: z.object({ items: z.array(found) }) },
      },
    },
    async ({ query: { q } }) => ({ items: await search(q) }),
  )

  const search = async (text: string): Promise<z.infer<typeof found>[]> => {
    if (/^[0-9]{1,15}$/.test(text)) {
      const row = await findBlock(queries, text)
      return row === undefined ? [] : [{ kind: 'block', id: String(row.height) }]
    }
    if (/^(0x)?[0-9a-f]{64}$/i.test(text)) return searchHash(hexToBytes(text.startsWith('0x') ? text : `0x${text}`))
    if (text.toLowerCase().startsWith(`${BECH32_OPERATOR}1`)) return searchOperator(text)
    try {
      return [{ kind: 'address', id: toChecksumAddress(parseTypedAddress(text)) }]
    } catch (error) {
      if (!(error instanceof AddressError)) throw error
    }
    const [tokens, validators] = await Promise.all([
      searchTokens(queries, text, MAX_NAMED),
      searchValidators(queries, text, MAX_NAMED),
    ])
    return [
      ...tokens.map(({ address, name, symbol }) => ({
        kind: 'token' as const,
        id: address,
        label: name ?? symbol ?? '',
      })),
      ...validators.map(({ operator, moniker }) => ({ kind: 'validator' as const, id: operator, label: moniker })),
    ]
  }

  const searchOperator = async (text: string): Promise<z.infer<typeof found>[]> => {
    let operator: Uint8Array
    try {
      operator = parseAddress(text, BECH32_OPERATOR)
    } catch (error) {
      if (error instanceof AddressError) return []
      throw error
    }
    const known = await findValidator(queries, operator)
    return known === undefined ? [] : [{ kind: 'validator', id: toBech32(operator, BECH32_OPERATOR) }]
  }

  const searchHash = async (hash: Uint8Array): Promise<z.infer<typeof found>[]> => {
    const name = bytesToHex(hash)
    const [position, block] = await Promise.all([findPosition(queries, hash), findBlock(queries, name)])
    return [
      ...(position === undefined ? [] : [{ kind: 'transaction' as const, id: name }]),
      ...(block === undefined ? [] : [{ kind: 'block' as const, id: String(block.height) }]),
    ]
  }
}
