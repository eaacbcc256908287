// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Queued cuts.
interface ITimelock {
    event CutProposed(bytes32 indexed proposalId, uint256 eta);
    event CutExecuted(bytes32 indexed proposalId);
    event CutCancelled(bytes32 indexed proposalId);

    /// @notice Applies a queued cut, from 48 hours to 30 days and 48 hours after it was queued.
    function executeCut(bytes32 _proposalId) external;

    /// @notice Cancels a queued cut permanently.
    function cancelCut(bytes32 _proposalId) external;

    /// @return status 0 pending, 1 cancelled, 2 executed
    /// @return executeAfter Unix seconds; 0 for an unknown proposal
    /// @return initAddress called after the cut; zero for none
    /// @return initCalldata calldata of that call
    function getProposal(bytes32 _proposalId)
        external
        view
        returns (uint8 status, uint256 executeAfter, address initAddress, bytes memory initCalldata);

    /// @return Every id ever proposed, in order.
    function getAllCutIds() external view returns (bytes32[] memory);

    /// @return The ids that are neither executed nor cancelled, in order.
    function getPendingCutIds() external view returns (bytes32[] memory);

    /// @return eta Unix seconds from which the cut can be executed; 0 for an unknown proposal
    /// @return executed whether it was executed
    /// @return cancelled whether it was cancelled
    function getPendingCutInfo(bytes32 _proposalId) external view returns (uint256 eta, bool executed, bool cancelled);

    /// @return Seconds from queueing a cut to the first moment it can be executed.
    function TIMELOCK_DELAY() external pure returns (uint256);

    /// @return Seconds from that moment to the last one.
    function MAX_PROPOSAL_AGE() external pure returns (uint256);
}
