import { type NodeClient, NodeRefusal } from './nodeClient.ts'

/** gRPC's code for what does not exist. */
const NOT_FOUND = 5

type Node = Pick<NodeClient, 'rest'>

/**
 * The answer to GET `path` about the state after the block at `height`; if the node no longer has that state, about the current one.
 * @returns undefined when there is no such thing in that state
 * @throws NodeError
 */
export async function askState<T>(node: Node, path: string, height: number): Promise<T | undefined> {
  try {
    return (await node.rest(path, height)) as T
  } catch (error) {
    if (!(error instanceof NodeRefusal)) throw error
  }
  try {
    return (await node.rest(path)) as T
  } catch (error) {
    if (error instanceof NodeRefusal && error.code === NOT_FOUND) return undefined
    throw error
  }
}

/** Entries asked for at once. */
const PAGE = 1_000

/** A part of a list of the Cosmos SDK. */
export interface PagedAnswer {
  readonly pagination: { readonly next_key: string | null }
}

/**
 * Every entry of a list, as {@link askState} answers: all of one state.
 * @param height undefined: as it is now
 * @param entriesOf the list in one answer
 * @throws NodeError, also when the node drops that state meanwhile
 */
export async function askWholeState<A extends PagedAnswer, T>(
  node: Node,
  path: string,
  height: number | undefined,
  entriesOf: (answer: A) => readonly T[],
): Promise<readonly T[]> {
  if (height === undefined) return askPages(node, path, undefined, entriesOf)
  try {
    await node.rest(`${path}?pagination.limit=1`, height)
  } catch (error) {
    if (error instanceof NodeRefusal) return askPages(node, path, undefined, entriesOf)
    throw error
  }
  return askPages(node, path, height, entriesOf)
}

async function askPages<A extends PagedAnswer, T>(
  node: Node,
  path: string,
  height: number | undefined,
  entriesOf: (answer: A) => readonly T[],
): Promise<readonly T[]> {
  const all: T[] = []
  let key: string | null = ''
  while (key !== null) {
    const query = new URLSearchParams({
      'pagination.limit': String(PAGE),
      ...(key === '' ? {} : { 'pagination.key': key }),
    })
    const answer = (await node.rest(`${path}?${query}`, height)) as A
    for (const entry of entriesOf(answer)) all.push(entry)
    key = answer.pagination.next_key
  }
  return all
}
