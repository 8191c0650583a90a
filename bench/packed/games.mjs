/** The ten games whose recordings are mixed in one Replay. */
export const games = ["Pong", "Breakout", "SpaceInvaders", "Seaquest", "MsPacman", "Enduro", "Riverraid", "MontezumaRevenge", "Qbert", "BeamRider"];
