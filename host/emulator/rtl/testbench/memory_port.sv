// One bus port of a core: it grants a request when the port is free, and answers after 1 + `wait_states` cycles.
// A new request is granted in the cycle of the answer, so without wait states the port takes a request in every cycle.
module memory_port (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       req,
    input  logic [1:0] wait_states,  // of the address of the request
    output logic       gnt,
    output logic       rvalid
);
  logic busy;
  logic [1:0] left;

  assign rvalid = busy && left == 2'd0;
  assign gnt = req && (!busy || rvalid);

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      busy <= 1'b0;
      left <= 2'd0;
    end else if (gnt) begin
      busy <= 1'b1;
      left <= wait_states;
    end else if (rvalid) begin
      busy <= 1'b0;
    end else if (busy) begin
      left <= left - 2'd1;
    end
  end
endmodule
