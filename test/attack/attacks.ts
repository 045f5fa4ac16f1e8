import type { Attack } from './attack.ts'
import { CLIENT_ATTACKS } from './clientAttacks.ts'
import { FRAME_ATTACKS } from './frameAttacks.ts'
import { PEER_ATTACKS } from './peerAttacks.ts'
import { STRANGERS_ATTACKS } from './stopAttacks.ts'
import { TRANSACTION_ATTACKS } from './transactionAttacks.ts'

/** All attacks, in the order of the table. */
export const ATTACKS: readonly Attack[] = [...CLIENT_ATTACKS, ...TRANSACTION_ATTACKS, ...PEER_ATTACKS, ...FRAME_ATTACKS]

/** What strangers have tried to stop the chain: as accounts and clients, then as peers. */
export const STOP_ATTACKS: readonly Attack[] = [...STRANGERS_ATTACKS, ...PEER_ATTACKS, ...FRAME_ATTACKS]
