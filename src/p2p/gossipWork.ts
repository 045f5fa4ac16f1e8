import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { FairQueue } from './fairQueue.ts'
import { GOSSIP_WORK, type Rate } from './limits.ts'
import type { Session } from './session.ts'

type Kind = 'reserved' | 'strangers'

/** With more owners, the debts of the oldest are forgotten. */
const MAX_DEBTS = 1_024

interface Lane {
  readonly work: FairQueue
  readonly refused: FairQueue
  /** refused transactions that are not paid yet, by owner */
  readonly debts: Map<string, number>
  readonly checks: Map<string, Checks>
}

/** Messages of one owner that are being checked. */
interface Checks {
  transactions: number
  /** called when there are few enough for another frame */
  readonly waiting: Set<() => void>
}

interface GossipWorkOptions {
  readonly isReserved: (session: Session) => boolean
  /** for whom a session's gossip counts: itself, or its network */
  readonly ownerOf: (session: Session) => string
  /** whether transactions of peers with a reserved slot, or of others, may come; otherwise too many wait to be checked */
  readonly hasRoom: (isReserved: boolean) => boolean
  readonly metrics: Pick<NetworkMetrics, 'gossipWaitsTotal'>
  /** milliseconds, monotonic */
  readonly now: () => number
}

/**
 * The work of this node for gossip. The author of a message cannot be proved, since nodes relay those of others, and what one honest node
 * accepts another one may have to refuse. So no peer is cut off for the amount of its gossip, or for transactions that are refused: what
 * is above the rates waits unread in the peer's own buffers, in fair turns by network. Peers with a reserved slot have rates of their own.
 *
 * The rates are those of {@link GOSSIP_WORK}. Two things are counted: the work for each frame, before it is done, and the transactions
 * that the pool refused, before the next frame of the same owner is read.
 */
export class GossipWork {
  readonly #options: GossipWorkOptions
  readonly #lanes: Readonly<Record<Kind, Lane>>

  constructor(options: GossipWorkOptions) {
    this.#options = options
    const { now, hasRoom } = options
    const createLane = (rate: Rate, isReserved: boolean): Lane => ({
      work: new FairQueue({ rate, now, isReady: () => hasRoom(isReserved) }),
      refused: new FairQueue({ rate: GOSSIP_WORK.refused, now }),
      debts: new Map(),
      checks: new Map(),
    })
    this.#lanes = {
      reserved: createLane(GOSSIP_WORK.reserved, true),
      strangers: createLane(GOSSIP_WORK.strangers, false),
    }
  }

  /**
   * Takes the work for a frame of a peer, in this order:
   *
   * 1. It waits while many transactions of its owner are being checked, since it is not known yet which of them are refused.
   * 2. It pays for those that were.
   * 3. It waits for its own turn.
   * @param cost asked when it is its turn: meanwhile others may have sent the same messages
   * @param start called later if the frame has to wait
   * @returns true: the work may be done at once; otherwise a function that takes it back
   */
  take(session: Session, cost: () => number, start: () => void): true | (() => void) {
    const { kind, lane, owner } = this.#laneOf(session)
    let cancel: () => void = () => undefined
    // 1.
    const checks = lane.checks.get(owner)
    if (checks !== undefined && checks.transactions > GOSSIP_WORK.checked) {
      const retry = (): void => {
        const taken = this.take(session, cost, start)
        if (taken === true) start()
        else cancel = taken
      }
      checks.waiting.add(retry)
      cancel = () => checks.waiting.delete(retry)
      return () => cancel()
    }
    // 2.
    const debt = lane.debts.get(owner) ?? 0
    lane.debts.delete(owner)
    const isPaid = debt === 0 || lane.refused.take(owner, debt)
    // 3.
    if (isPaid && lane.work.take(owner, cost())) return true
    this.#options.metrics.gossipWaitsTotal.inc({ from: kind })
    if (isPaid) return lane.work.wait(owner, cost, start)
    const cancelPayment = lane.refused.wait(
      owner,
      () => debt,
      () => {
        cancel = lane.work.wait(owner, cost, start)
      },
    )
    cancel = () => {
      cancelPayment()
      this.#owe(lane, owner, debt)
    }
    return () => cancel()
  }

  /**
   * Counts transactions of a peer that are being checked.
   * @returns to be called when they have been checked
   */
  checking(session: Session, transactions: number): () => void {
    const { lane, owner } = this.#laneOf(session)
    const checks = lane.checks.get(owner) ?? { transactions: 0, waiting: new Set() }
    lane.checks.set(owner, checks)
    checks.transactions += transactions
    return () => {
      checks.transactions -= transactions
      if (checks.transactions > GOSSIP_WORK.checked) return
      if (checks.transactions === 0) lane.checks.delete(owner)
      const waiting = [...checks.waiting]
      checks.waiting.clear()
      for (const retry of waiting) retry()
    }
  }

  /** Charges a peer for transactions that the pool has refused. */
  refused(session: Session, count: number): void {
    if (count === 0) return
    const { lane, owner } = this.#laneOf(session)
    this.#owe(lane, owner, count)
  }

  #owe({ debts }: Lane, owner: string, count: number): void {
    const debt = (debts.get(owner) ?? 0) + count
    debts.delete(owner)
    debts.set(owner, debt)
    if (debts.size > MAX_DEBTS) debts.delete(debts.keys().next().value!)
  }

  #laneOf(session: Session): { readonly kind: Kind; readonly lane: Lane; readonly owner: string } {
    const kind = this.#options.isReserved(session) ? 'reserved' : 'strangers'
    return { kind, lane: this.#lanes[kind], owner: this.#options.ownerOf(session) }
  }
}
