import { type Address, toAddress } from '../primitives/address.ts'
import { hexToBytes } from '../primitives/bytes.ts'

/** EIP-4788: each block begins with a call that stores its header's parent beacon block root. */
export const BEACON_ROOTS: Address = toAddress(hexToBytes('0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02'))

/** EIP-2935: each block begins with a call that stores the parent's hash. */
export const HISTORY_STORAGE: Address = toAddress(hexToBytes('0x0000F90827F1C53a10cb7A02335B175320002935'))
