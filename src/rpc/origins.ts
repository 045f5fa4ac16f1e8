/** Web origins that may use the node; `*` alone allows every origin. */
export type AllowedOrigins = readonly string[]

/** Whether pages of `origin` may call; requests without an Origin header do not come from a web page. */
export function isOriginAllowed(allowed: AllowedOrigins, origin: string | undefined): boolean {
  return origin === undefined || allowed.includes('*') || allowed.includes(origin.toLowerCase())
}
