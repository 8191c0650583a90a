/** The ten games that are mixed. */
export const games = ["Pong", "Breakout", "SpaceInvaders", "Seaquest", "MsPacman", "Enduro", "Riverraid", "MontezumaRevenge", "Qbert", "BeamRider"];
