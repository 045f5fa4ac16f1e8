import type { RestBinding } from '../../../modules/query/query.ts'
import type { NativeQuery, QueryTable } from '../queryPort.ts'

/** A query and the values of its path. */
export interface RouteMatch {
  readonly query: NativeQuery
  readonly method: RestBinding['method']
  /** by field path, percent-decoded */
  readonly captures: ReadonlyMap<string, string>
}

/** Finds the query of a request by its path. */
export interface RestRouter {
  /** undefined: there is no such path, or not for this method */
  match(method: string, path: string): RouteMatch | undefined
}

interface Node {
  readonly literals: Map<string, Node>
  /** one segment, whatever it is */
  variable: Node | undefined
  readonly ends: Map<string, End>
  /** of templates whose last variable takes the rest of the path */
  readonly restEnds: Map<string, End>
}

interface End {
  readonly query: NativeQuery
  readonly method: RestBinding['method']
  readonly names: readonly string[]
}

const VARIABLE = /^\{([a-z0-9_.]+)(=\*\*)?\}$/

/**
 * The templates of all queries as one tree. Literal segments go before variables, so `blocks/latest` is not a height.
 * @throws Error when two queries have one template
 */
export function createRestRouter(queries: QueryTable): RestRouter {
  const root = newNode()
  for (const query of queries.values()) {
    for (const { method, template } of query.rest) addTemplate(root, query, method, template)
  }
  return {
    match: (method, path) => {
      const segments = path.split('/').slice(1)
      const found = find(root, method, segments, 0, [])
      if (found === undefined) return undefined
      const { end, values } = found
      const captures = new Map<string, string>()
      for (const [index, name] of end.names.entries()) {
        const value = decode(values[index]!)
        if (value === undefined) return undefined
        captures.set(name, value)
      }
      return { query: end.query, method: end.method, captures }
    },
  }
}

function newNode(): Node {
  return { literals: new Map(), variable: undefined, ends: new Map(), restEnds: new Map() }
}

function addTemplate(root: Node, query: NativeQuery, method: RestBinding['method'], template: string): void {
  let node = root
  const names: string[] = []
  let takesRest = false
  for (const segment of template.split('/').slice(1)) {
    const variable = VARIABLE.exec(segment)
    if (variable === null) {
      const known = node.literals.get(segment) ?? newNode()
      node.literals.set(segment, known)
      node = known
      continue
    }
    names.push(variable[1]!)
    takesRest = variable[2] !== undefined
    if (takesRest) continue
    node.variable ??= newNode()
    node = node.variable
  }
  const ends = takesRest ? node.restEnds : node.ends
  if (ends.has(method)) throw new Error(`two queries are at ${method} ${template}`)
  ends.set(method, { query, method, names })
}

function find(
  node: Node,
  method: string,
  segments: readonly string[],
  at: number,
  values: readonly string[],
): { readonly end: End; readonly values: readonly string[] } | undefined {
  const segment = segments[at]
  if (segment === undefined) {
    const end = node.ends.get(method)
    return end && { end, values }
  }
  const literal = node.literals.get(segment)
  const found = literal && find(literal, method, segments, at + 1, values)
  if (found !== undefined) return found
  // As in grpc-gateway: the last segment of a variable may be empty; the query then reports the missing value.
  const canBeVariable = segment !== '' || at === segments.length - 1
  if (node.variable !== undefined && canBeVariable) {
    const inner = find(node.variable, method, segments, at + 1, [...values, segment])
    if (inner !== undefined) return inner
  }
  const rest = node.restEnds.get(method)
  return rest && canBeVariable ? { end: rest, values: [...values, segments.slice(at).join('/')] } : undefined
}

/** undefined for what is not percent-encoded UTF-8 */
function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}
