import { type Address, AddressError, parseTypedAddress } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'

/** A request that cannot be answered as it is. The message is the `result` of the answer: one line for the client. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
}

/** Rows that paging can reach, as at Etherscan. */
const MAX_WINDOW = 10_000
const DEFAULT_OFFSET = 1_000
const DAY_MS = 86_400_000
/** Of an address in any spelling, and some that people add by mistake. */
const MAX_ADDRESS = 100
/** Above every height that a position can have. */
const MAX_HEIGHT = 2 ** 33 - 1

/** Which part of a list is asked for. */
export interface ListPart {
  /** rows before it */
  readonly skip: number
  readonly count: number
  readonly direction: 'asc' | 'desc'
}

/** Heights, both included. */
export interface HeightRange {
  readonly from: number
  readonly to: number
}

/** The parameters of a request, by name in lower case: Etherscan makes no difference, and clients write both `fromBlock` and `fromblock`. */
export class Parameters {
  readonly #values: ReadonlyMap<string, string>

  private constructor(values: ReadonlyMap<string, string>) {
    this.#values = values
  }

  /**
   * @param parts of a request, e.g. its query and its form; a later part counts more
   * @throws RequestError when one part has a parameter twice: it is unclear which one is meant
   */
  static of(...parts: readonly Iterable<readonly [string, string]>[]): Parameters {
    const values = new Map<string, string>()
    for (const part of parts) {
      const own = new Set<string>()
      for (const [name, value] of part) {
        const key = name.toLowerCase()
        if (own.has(key)) throw new RequestError('Error! A parameter is given twice')
        own.add(key)
        values.set(key, value)
      }
    }
    return new Parameters(values)
  }

  /** Its text without spaces around it; undefined when it is not given, or empty. */
  text(name: string): string | undefined {
    const value = this.#values.get(name.toLowerCase())?.trim()
    return value === '' ? undefined : value
  }

  /** An address in either spelling. */
  address(name: string): Address {
    const address = this.optionalAddress(name)
    if (address === undefined) throw new RequestError(`Error! Missing ${name}`)
    return address
  }

  optionalAddress(name: string): Address | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : readAddress(text)
  }

  /** Addresses with commas between them. */
  addresses(name: string, most: number): readonly Address[] {
    const text = this.text(name)
    if (text === undefined) throw new RequestError(`Error! Missing ${name}`)
    const parts = text.split(',', most + 1)
    if (parts.length > most) throw new RequestError(`Error! Maximum of ${most} addresses for ${name}`)
    return parts.map((part) => readAddress(part.trim()))
  }

  /** 32 bytes. */
  hash(name: string): Uint8Array {
    const hash = this.optionalHash(name)
    if (hash === undefined) throw new RequestError(`Error! Missing ${name}`)
    return hash
  }

  optionalHash(name: string): Uint8Array | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (!/^0x[0-9a-f]{64}$/i.test(text)) {
      throw new RequestError(name === 'txhash' ? 'Error! Invalid transaction hash format' : `Error! Invalid ${name}`)
    }
    return hexToBytes(text)
  }

  /** Bytes: 0x… */
  data(name: string, mostBytes: number): string | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (!/^0x(?:[0-9a-f]{2})*$/i.test(text))
      throw new RequestError(`Error! Invalid ${name}, expected 0x followed by pairs of hex digits`)
    if (text.length > 2 + 2 * mostBytes) throw new RequestError(`Error! ${name} has more than ${mostBytes} bytes`)
    return text
  }

  /** A number that is not negative, in decimal or as 0x…, of 256 bits at most. */
  amount(name: string): bigint | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (!/^(?:[0-9]{1,78}|0x[0-9a-f]{1,64})$/i.test(text) || BigInt(text) >= 2n ** 256n) {
      throw new RequestError(`Error! Invalid ${name}`)
    }
    return BigInt(text)
  }

  /** The same for a small number; one above `most` is an error. */
  number(name: string, most: number): number | undefined {
    const amount = this.amount(name)
    if (amount === undefined) return undefined
    if (amount > BigInt(most)) throw new RequestError(`Error! Invalid ${name}, the maximum is ${most}`)
    return Number(amount)
  }

  /** A height that must be given. */
  height(name: string): number {
    const height = this.number(name, MAX_HEIGHT)
    if (height === undefined) throw new RequestError(`Error! Missing ${name}`)
    return height
  }

  /** A day of UTC that must be given, as 2026-12-31: days since 1970. */
  day(name: string): number {
    const text = this.text(name)
    if (text === undefined) throw new RequestError(`Error! Missing ${name}`)
    const time = Date.parse(text)
    // 2026-02-30 is read as a day of March.
    if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text)
      throw new RequestError(`Error! Invalid ${name}, expected a day such as 2026-12-31`)
    return Math.floor(time / DAY_MS)
  }

  /** Clients write `latest` and numbers like 99999999 for the newest block. */
  heights(from: string, to: string): HeightRange {
    return { from: this.#bound(from, 0), to: this.#bound(to, MAX_HEIGHT) }
  }

  #bound(name: string, otherwise: number): number {
    const text = this.text(name)?.toLowerCase()
    if (text === undefined) return otherwise
    if (text === 'earliest') return 0
    if (['latest', 'pending', 'safe', 'finalized'].includes(text)) return MAX_HEIGHT
    const amount = this.amount(name)!
    return amount > BigInt(MAX_HEIGHT) ? MAX_HEIGHT : Number(amount)
  }

  /**
   * `page` from 1 on, `offset` rows a page, `sort`.
   * @param most rows a page: a larger `offset` is this, for the rows before the page too, so that pages follow one another
   */
  part(most: number = MAX_WINDOW): ListPart {
    const offset = Math.min(most, this.#positive('offset', DEFAULT_OFFSET))
    const page = this.#positive('page', 1)
    if (page * offset > MAX_WINDOW) {
      throw new RequestError('Result window is too large, PageNo x Offset size must be less than or equal to 10000')
    }
    const sort = this.text('sort')?.toLowerCase() ?? 'asc'
    if (sort !== 'asc' && sort !== 'desc') throw new RequestError('Error! Invalid sort, expected asc or desc')
    return { skip: (page - 1) * offset, count: offset, direction: sort }
  }

  #positive(name: string, otherwise: number): number {
    const amount = this.amount(name)
    if (amount === undefined || amount === 0n) return otherwise
    return amount > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(amount)
  }
}

function readAddress(text: string): Address {
  try {
    if (text.length <= MAX_ADDRESS) return parseTypedAddress(text.startsWith('0X') ? `0x${text.slice(2)}` : text)
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
  }
  throw new RequestError('Error! Invalid address format')
}
