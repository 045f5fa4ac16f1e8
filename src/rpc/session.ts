/** A connection that notifications can be sent on, as the dispatcher sees it. */
export interface Session {
  /**
   * Starts a subscription of the eth namespace; `params` are those of the request, the name first. Gives its ID. No
   * notification is sent before the answer to the request.
   * @throws RpcError
   */
  subscribe(params: readonly unknown[]): string
  /** Whether there was such a subscription. */
  unsubscribe(id: string): boolean
}
